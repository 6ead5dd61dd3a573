"""Text as it comes: never half a character, and the pieces joined are the whole."""

import itertools
import random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

from labkit.executors.model.text_stream import TextStream


def byte_level():
    """A byte-level vocabulary: every byte, some joined ones that end inside a character, a special token."""
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    merges = [
        ("h", "e"),
        ("Ġ", "h"),
        ("ä", "¸"),
        ("ð", "Ł"),
        ("o", "ä"),
    ]  # ä¸ begins 中, ðŁ 😀, oä an o and 中
    vocab = {token: i for i, token in enumerate(letters + ["".join(pair) for pair in merges])}
    made = Tokenizer(models.BPE(vocab, merges))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    made.add_special_tokens([AddedToken("<|end|>", special=True)])
    return made


def byte_fallback():
    """The older Llama kind: words with ▁ for a space, a leading one stripped, bytes as <0xE4>."""
    words = ["<unk>", "▁", "▁he", "llo", "▁中", "a", "</s>"]
    vocab = {token: i for i, token in enumerate(words + [f"<0x{byte:02X}>" for byte in range(256)])}
    made = Tokenizer(models.BPE(vocab, [], unk_token="<unk>", byte_fallback=True))
    made.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    made.add_special_tokens(["</s>"])
    return made


TOKENIZERS = {"byte level": byte_level(), "byte fallback": byte_fallback()}


def stream(tokenizer, tokens):
    text = TextStream(tokenizer)
    return [*(text.push(token) for token in tokens), text.flush()]


TEXTS = [
    "hello he",
    "o中 o中o",
    "中文，词元",
    "😀👩\u200d👩\u200d👧 he",
    "a\ufffdb",
    "\ufffd",
    "é中😀" * 3,
    " he",
    "",
]


@pytest.mark.parametrize("text", TEXTS)
def test_characters_come_whole(text):
    tokenizer = TOKENIZERS["byte level"]
    tokens = tokenizer.encode(text).ids
    pieces = stream(tokenizer, tokens)
    assert "".join(pieces) == text
    assert all("\ufffd" not in piece for piece in pieces) or "\ufffd" in text
    # each character comes with its last token: nothing but half a character is ever held back
    for n in range(len(tokens)):
        whole = tokenizer.decode(tokens[: n + 1]).rstrip("\ufffd")
        assert "".join(pieces[: n + 1]).rstrip("\ufffd") == whole


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(sorted(TOKENIZERS)), st.lists(st.integers(0, 10**6), max_size=25))
@example("byte fallback", [7, 1058, 135])  # a special token inside a run of bytes
@example("byte fallback", [2, 6, 2])  # a special token without text, then a word with a space
def test_pieces_joined_are_the_whole_for_any_tokens(kind, numbers):
    """Random tokens are mostly broken UTF-8: the replacement characters come as in the whole text, too."""
    tokenizer = TOKENIZERS[kind]
    tokens = [n % tokenizer.get_vocab_size() for n in numbers]
    assert "".join(stream(tokenizer, tokens)) == tokenizer.decode(tokens)


@pytest.mark.parametrize("kind", TOKENIZERS)
def test_many_broken_characters(kind):
    """Long runs of bytes and few words: what is held back is bounded by what is undecided."""
    tokenizer = TOKENIZERS[kind]
    rng = random.Random(0)
    raw = [i for token, i in tokenizer.get_vocab().items() if token.startswith("<0x") or len(token) == 1]
    for _ in range(300):
        tokens = rng.choices(raw, k=30)
        assert "".join(stream(tokenizer, tokens)) == tokenizer.decode(tokens)


def test_the_end_gives_out_what_was_held_back():
    tokenizer = TOKENIZERS["byte level"]
    tokens = tokenizer.encode("he中").ids[:-1]
    *pieces, rest = stream(tokenizer, tokens)
    assert ("".join(pieces), rest) == ("he", "\ufffd")


def test_special_tokens_have_no_text():
    tokenizer = TOKENIZERS["byte level"]
    tokens = tokenizer.encode("he<|end|>中<|end|>").ids
    assert "".join(stream(tokenizer, tokens)) == "he中"
    half = tokenizer.encode("😀").ids
    inside = [*half[:1], tokenizer.token_to_id("<|end|>"), *half[1:]]
    assert "".join(stream(tokenizer, inside)) == "😀"


def test_a_model_with_more_ids_than_the_tokenizer_has_tokens():
    """Vocabularies are padded to round sizes: an id without a token has no text."""
    tokenizer = TOKENIZERS["byte level"]
    tokens = tokenizer.encode("he中").ids
    assert "".join(stream(tokenizer, [*tokens[:2], 60_000, *tokens[2:]])) == "he中"


def test_each_step_decodes_a_window_and_not_the_answer(monkeypatch):
    """Its cost must not grow with the answer: after hundreds of tokens a step decodes a few."""
    tokenizer = TOKENIZERS["byte level"]
    sizes = []

    class Counting:
        id_to_token = tokenizer.id_to_token
        get_added_tokens_decoder = tokenizer.get_added_tokens_decoder

        def decode(self, tokens):
            sizes.append(len(tokens))
            return tokenizer.decode(tokens)

    text = TextStream(Counting())
    for token in itertools.islice(itertools.cycle(tokenizer.encode("he中 😀").ids), 600):
        text.push(token)
    assert max(sizes) <= 8
