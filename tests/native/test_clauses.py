"""The questions of planners about clauses, compared with plain Python."""

from hypothesis import given
from hypothesis import strategies as st

from sonicpy._native.bm25 import idf
from sonicpy._native.clauses import (
    HELD_PIECE_LETTERS_MIN,
    add_completions,
    add_misspelt,
    bringing_clause,
    cuttable_clauses,
    may_fill,
    require_held,
    run_clauses,
    whole_clauses,
)
from sonicpy._native.plan import BRINGS, REQUIRED, Clause, Plan, Slot
from sonicpy._native.term_rows import TermInfo
from sonicpy._native.terms import PART, SPECIAL, STOP, Terms
from sonicpy._native.varint import pack_varints
from sonicpy._native.word_break import is_unspaced
from sonicpy._native.word_source import SortedWords

WORDS = st.sampled_from(["word", "words", "wordier", "Ab", "ab3", "c++", "東", "東京", "éb", "15", "o'neill", "wo"])
CLAUSES = st.lists(st.tuples(WORDS, st.integers(0, 7), st.integers(0, 3), st.integers(0, 900)), min_size=1, max_size=5)
Drawn = list[tuple[str, int, int, int]]


def made(drawn: Drawn) -> tuple[list[Clause], Terms]:
    """Return clauses of words with flags, roles and holders, and their terms."""
    words = [word.encode() for word, *_ in drawn]
    terms = Terms(words, bytes([1] * len(drawn)), bytes(flags for _, flags, *_ in drawn), [len(word) for word in words])
    clauses = [
        Clause(
            number,
            role,
            1.5,
            [Slot((word.encode(),), 1.0), Slot((b"wordier", b"other"), 0.5, how="form")],
            holders=held,
        )
        for number, (word, _, role, held) in enumerate(drawn)
    ]
    return clauses, terms


@given(CLAUSES)
def test_clauses_are_picked_as_planners_need_them(drawn: Drawn) -> None:
    assert {SPECIAL, STOP, PART} == {1, 2, 4}
    clauses, terms = made(drawn)
    whole = [one for one in clauses if one.role & BRINGS and not terms.flags[one.term] & PART]
    assert whole_clauses(clauses, terms) == whole
    assert run_clauses(clauses, terms) == [one for one in whole if is_unspaced(one.slots[0].words[0])]
    assert cuttable_clauses(clauses, terms) == [
        one for one in whole if not (one.slots[0].words[0].isalpha() and one.holders)
    ]
    for term in range(len(drawn) + 1):
        first = next((one for one in clauses if one.term == term and one.role & BRINGS), None)
        assert bringing_clause(clauses, term) is first
    held = [bool(one.role & REQUIRED and one.holders) for one in clauses]
    assert require_held(clauses) == any(held)
    assert [bool(one.role & REQUIRED) for one in clauses] == held


@given(st.lists(st.text("ab", min_size=1, max_size=9)), st.lists(st.text("ab", min_size=1)), st.text("ab", max_size=70))
def test_a_held_word_may_be_cut_if_it_consists_of_two_words(some: list[str], more: list[str], word: str) -> None:
    clause = Clause(0, BRINGS, 1.0, [Slot((word.encode(),), 1.0)], is_expandable=True, holders=1)
    terms = Terms([word.encode()], b"\1", b"\0", [len(word)])
    sources = [SortedWords([each.encode() for each in sorted(set(words))]) for words in (some, more)]
    ends = range(HELD_PIECE_LETTERS_MIN, len(word) - HELD_PIECE_LETTERS_MIN + 1)
    are_two = len(word) < 64 and any({word[:end], word[end:]} <= {*some, *more} for end in ends)
    assert bool(cuttable_clauses([clause], terms, sources)) == (are_two or not word)


@given(CLAUSES, st.integers(1, 50), st.integers(0, 1_000), st.booleans())
def test_a_page_may_be_filled_if_words_are_common_enough(drawn: Drawn, wanted: int, objects: int, full: bool) -> None:
    clauses, _ = made(drawn)
    plan = Plan(clauses, 1.0, 1.0, full_first=full, left_out={}, enough=None)
    held = [one.holders for one in clauses if one.role & BRINGS]
    expected = float(objects)
    for each in held:
        expected *= each / objects if objects else 0.0
    is_likely = full and objects > 0 and min(held, default=wanted) >= wanted and expected * 30.0 >= wanted
    assert may_fill(plan, wanted, objects, 30.0) == is_likely


@given(CLAUSES, st.lists(WORDS, unique=True))
def test_words_of_other_clauses_are_no_completions_if_others_are(drawn: Drawn, begun: list[str]) -> None:
    clauses, _ = made(drawn)
    last, held_before = clauses[-1], clauses[-1].holders
    own = {word for slot in last.slots for word in slot.words}
    others = {one.slots[0].words[0] for one in clauses[:-1]}
    found = [word.encode() for word in begun]
    row = TermInfo(pack_varints((1, 7, 0, 0)), 4)
    left = [word for word in found if word not in own | others]
    if not left and not held_before:
        others, left = set(), [word for word in found if word not in own]
    taken, holders = add_completions(last, clauses, [(word, row, 0) for word in found], 2, 5, (0.9, 0.8, 0.7), 1_000)
    assert taken == own | set(left)
    assert holders == 7 * len(left)
    completed = [word for slot in last.slots if slot.how == "completion" for word in slot.words]
    assert sorted(completed) == sorted(left)
    forms = [word for slot in last.slots if slot.how == "form" for word in slot.words]
    assert forms == [word for word in (b"wordier", b"other") if word not in others]


@given(st.lists(st.tuples(st.integers(1, 2), st.integers(1, 40)), max_size=9), st.floats(0.1, 9))
def test_misspelt_beginnings_are_slots_by_their_errors_and_places(drawn: list[tuple[int, int]], weight: float) -> None:
    objects, ends, shares = 50, (1, 3), (0.5, 0.4, 0.25)
    likeliest = [
        (b"word%d" % number, TermInfo(pack_varints((1, df, 0, 0)), 5), errors)
        for number, (errors, df) in enumerate(sorted(drawn, key=lambda each: each[0]))
    ]
    (clause,), _ = made([("word", 0, BRINGS, 0)])
    before = list(clause.slots)
    add_misspelt(clause, likeliest, weight, objects, ends, shares)
    expected = []
    for edits in (1, 2):
        held = [(word, row.df) for word, row, its in likeliest if its == edits]
        most = min(weight, idf(objects, min(sum(df for _, df in held), objects)))
        for first, end, share in zip((0, *ends), (*ends, len(held)), shares, strict=True):
            if words := tuple(word for word, _ in held[first:end]):
                expected.append((words, share / edits * most, "correction", edits))
    assert clause.slots[: len(before)] == before
    assert [(each.words, each.weight, each.how, each.edits) for each in clause.slots[len(before) :]] == expected
