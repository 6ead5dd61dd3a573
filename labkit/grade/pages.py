"""The two HTML pages of a report, as jinja2 templates. No script, no network, dark and light, readable in print."""

STYLE = """\
<style>
:root { color-scheme: light dark; }
body { font: 16px/1.6 system-ui, "Noto Sans SC", sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; margin: 1rem 0; }
th, td { border: 1px solid #8888; padding: .25rem .6rem; text-align: left; vertical-align: top; }
td.n { text-align: right; font-variant-numeric: tabular-nums; }
.bar { display: inline-block; height: .8em; background: #0072b2; vertical-align: baseline; }
.scroll { overflow-x: auto; }
</style>
"""

HEAD = '<!doctype html>\n<html lang="{{ lang }}">\n<head>\n<meta charset="utf-8">\n<title>'
HEAD_END = '</title>\n<meta name="viewport" content="width=device-width">\n' + STYLE + "</head>\n<body>\n"

STUDENT_PAGE = (
    HEAD
    + "{{ t('grade.page.student', student=student) }}"
    + HEAD_END
    + """\
<h1>{{ t('grade.page.student', student=student) }}</h1>
{% for row in rows if row.marks %}
<h2>{{ t('grade.page.exercise', id=row.exercise.id, title=row.exercise.title) }}</h2>
<p>{{ t('grade.page.points', earned='%g' % row.earned, possible=row.possible, manual=row.manual) }}</p>
{% if row.marks.notes %}<p>{{ t('grade.page.aside') }} {{ row.marks.notes | join(', ') }}</p>{% endif %}
{% if row.marks.not_run %}<p><strong>{{ t('grade.verdict.not_run', reason=row.marks.not_run) }}</strong></p>
{% else %}
<table>
<tr><th>{{ t('grade.page.part') }}</th><th>{{ t('grade.page.answer') }}</th><th>{{ t('grade.page.mark') }}</th>
<th>{{ t('grade.page.feedback') }}</th></tr>
{% for key, earned, possible, marks in row.by_part() %}{% for mark in marks %}
<tr><td>{{ key }}</td><td><code>{{ mark.answer }}</code></td>
<td class="n">{{ '%g' % mark.earned }}/{{ mark.points }}</td><td>{{ mark.feedback }}</td></tr>
{% endfor %}{% endfor %}
</table>
{% endif %}
{% if row.marks.cells %}
<p>{{ t('grade.page.cells') }}</p>
<ul>
{% for cell in row.marks.cells %}
<li>{{ t('grade.page.cell', number=cell.cell + 1) }} {{ t('grade.cell.slow') if cell.kind == 'slow'
    else t('grade.cell.ended') if cell.kind == 'ended' else cell.kind }}{% if
    cell.text %}: <code>{{ cell.text }}</code>{% endif %}</li>
{% endfor %}
</ul>
{% endif %}
{% endfor %}
{% set missing = rows | rejectattr('marks') | list %}
{% if missing %}
<p>{{ t('grade.page.missing') }} {{ missing | map(attribute='exercise.id') | join(', ') }}</p>
{% endif %}
{% if strangers %}<p>{{ t('grade.page.strangers') }} {{ strangers | join(', ') }}</p>{% endif %}
<p><small>{{ t('grade.box.' ~ box) }}</small></p>
</body>
</html>
"""
)

CLASS_PAGE = (
    HEAD
    + "{{ t('grade.page.class') }}"
    + HEAD_END
    + """\
<h1>{{ t('grade.page.class') }}</h1>
<p>{{ t('grade.box.' ~ box) }}</p>
<h2>{{ t('grade.page.histogram') }}</h2>
{% if histogram %}
<table>
<tr><th>{{ t('grade.page.exercise_short') }}</th><th>{{ t('grade.page.misconception') }}</th>
<th>{{ t('grade.page.students') }}</th></tr>
{% for exercise, text, count in histogram %}
<tr><td>{{ exercise }}</td><td>{{ text }}</td><td><span class="bar" style="width:{{ 12 * count / histogram[0][2] }}rem">
</span> {{ count }}</td></tr>
{% endfor %}
</table>
{% else %}<p>{{ t('grade.page.none') }}</p>{% endif %}
<h2>{{ t('grade.page.part_marks') }}</h2>
<table>
<tr><th>{{ t('grade.page.exercise_short') }}</th><th>{{ t('grade.page.part') }}</th><th>{{ t('grade.page.mean') }}</th>
<th>{{ t('grade.page.full') }}</th></tr>
{% for exercise, key, mean, full, of in parts %}
<tr><td>{{ exercise }}</td><td>{{ key }}</td><td class="n">{{ '%.0f' % (100 * mean) }} %</td>
<td class="n">{{ full }}/{{ of }}</td></tr>
{% endfor %}
</table>
{% if rubrics %}
<h2>{{ t('grade.page.by_hand') }}</h2>
<table>
<tr><th>{{ t('grade.page.exercise_short') }}</th><th>{{ t('grade.page.part') }}</th><th>{{ t('grade.page.mark') }}</th>
<th>{{ t('grade.page.rubric') }}</th></tr>
{% for exercise, key, points, text in rubrics %}
<tr><td>{{ exercise }}</td><td>{{ key }}</td><td class="n">{{ points }}</td><td>{{ text }}</td></tr>
{% endfor %}
</table>
{% endif %}
<h2>{{ t('grade.page.not_run') }}</h2>
{% if not_run %}
<ul>
{% for row in not_run %}<li>{{ row.student }}, {{ row.exercise.id }}: {{ row.marks.not_run }}</li>
{% endfor %}
</ul>
{% else %}<p>{{ t('grade.page.none') }}</p>{% endif %}
{% if strangers %}
<p>{{ t('grade.page.strangers') }}</p>
<ul>
{% for student, file in strangers %}<li>{{ student }}: {{ file }}</li>
{% endfor %}
</ul>
{% endif %}
<h2>{{ t('grade.page.students') }}</h2>
<div class="scroll"><table>
<tr><th>{{ t('grade.page.name') }}</th>{% for exercise in exercises %}<th>{{ exercise.id }}</th>{% endfor %}
<th>{{ t('grade.page.sum') }}</th></tr>
{% for student, page, rows in students %}
<tr><td><a href="students/{{ page | urlencode }}">{{ student }}</a></td>
{% for row in rows %}<td class="n">{{ '–' if row.state == 'missing' else '!' if row.state == 'not_run'
    else '%g' % row.earned }}</td>{% endfor %}
<td class="n">{{ '%g' % (rows | sum(attribute='earned')) }}/{{ rows | sum(attribute='possible') }}</td></tr>
{% endfor %}
</table></div>
<p>{{ t('grade.page.legend') }}</p>
</body>
</html>
"""
)
