"""nbgrader on this repository: only `solutions/source` holds assignments; what students get is `exercises`."""

c = get_config()  # noqa: F821 - nbgrader defines it

c.CourseDirectory.course_id = "labkit"
c.CourseDirectory.source_directory = "solutions/source"
c.CourseDirectory.release_directory = "exercises"
# The same stubs as labkit.grade.author writes.
c.ClearSolutions.code_stub = {"python": "raise NotImplementedError"}
c.ClearSolutions.text_stub = "在这里作答。"
