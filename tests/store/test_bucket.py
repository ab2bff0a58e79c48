"""Buckets compared with a reference implementation, in any run of changes, commits, faults and restarts."""

import random
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, precondition, rule

from sonicpy._native.impact_rows import BLOCKS_PER_ROW
from sonicpy._native.keys import IID_MAX, term_key
from sonicpy._native.plan import BRINGS, Clause, Plan, Slot
from sonicpy._native.postings import POSTINGS_PER_BLOCK, posting_count
from sonicpy._native.sonic_table import SonicTable
from sonicpy._native.terms import PART, STOP, Terms
from sonicpy._native.varint import pack_varints
from sonicpy.errors import StoreDamaged, StoreError
from sonicpy.graph.graph_pool import GraphPool
from sonicpy.graph.word_graph import WordGraph
from sonicpy.index.maintenance.consolidate import GraphLimits, prune_pending, publish, read_words, write_graph
from sonicpy.index.search.parts import bind, find
from sonicpy.store.care.verify_tables import table_faults
from sonicpy.store.changing.mutations import FlushBucket, FlushCollection, FlushObject, Mutation, PopTerms, PushTerms
from sonicpy.store.disk import table_numbers as tables
from sonicpy.store.disk.table_rows import MapFull
from sonicpy.store.rows import names
from sonicpy.store.rows.bucket_state import FIELD_NAMES, BucketState
from sonicpy.store.rows.keys import block_position, scope_of
from sonicpy.store.rows.lengths import OBJECTS_PER_ROW
from sonicpy.store.rows.meta import BY_ASSOCIATION, BY_OBJECT
from sonicpy.store.store import Store
from sonicpy.store.views.bucket_reader import BucketReader
from sonicpy.store.views.write_view import WriteView
from tests.reference.store import Model
from tests.store.consistency import check_consistent
from tests.store.shorthand import ORDERS, found, open_store, picture, push, terms
from tests.store.trouble import failing_writes, roll_back
from tests.support.examples import examples

LONG_HEAD = b"h" * 470  # two terms that share more than the 466 bytes a long key keeps
WORDS = [
    b"a", b"b", b"ab", b"\xc3\xa9", b"c" * 40, b"d" * 41, b"e" * 500, b"f" * 501, LONG_HEAD + b"x" * 60,
    LONG_HEAD + b"y" * 60,
]  # fmt: skip
OIDS = ["o1", "o2", "o3", "o4", "x" * 128]
SCOPES = [("c", "b"), ("c", "b2"), ("c\0", "b"), ("cc", "\0b")]

texts = st.lists(
    st.tuples(st.sampled_from(WORDS), st.sampled_from([1, 1, 2, 3, 255]), st.sampled_from([0, 0, 0, STOP, PART])),
    max_size=5,
    unique_by=lambda term: term[0],
).map(lambda rows: Terms([row[0] for row in rows], bytes(row[1] for row in rows), bytes(row[2] for row in rows)))
scopes = st.sampled_from(SCOPES[:1] * 4 + SCOPES)
oids = st.sampled_from(OIDS)
windows = st.sampled_from([0, 1, 2, 3, 5])


@pytest.fixture(autouse=True)
def few_names_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write names of objects to rows early, and split rows early."""
    monkeypatch.setattr(names, "WAITING_MIN", 2)
    monkeypatch.setattr(names, "NAMES_PER_SLICE", 1)
    monkeypatch.setattr(names, "FOLDED_MIN", 1)


def compare(store: Store, model: Model) -> None:
    """Check that every bucket has the content of the model, that no other bucket exists, and that all tables agree."""
    with store.reading() as view:
        for collection in {scope[0] for scope in SCOPES}:
            expected = sorted(scope for scope in model.buckets if scope[0] == collection)
            assert len(view.buckets(collection)) == len(expected)
        for scope in SCOPES:
            if scope in model.buckets:
                expected_picture = model.buckets[scope].picture()
                assert picture(view, *scope) == expected_picture
                state = view.bucket(*scope)
                assert state is not None
                assert state.objects == len(model.buckets[scope].objects)
                assert state.total_length == sum(expected_picture["lengths"].values())  # type: ignore[attr-defined]
                assert state.live_words == len(model.buckets[scope].live_words())
            else:
                assert view.bucket(*scope) is None
    check_consistent(store)


class StoreMachine(RuleBasedStateMachine):
    """Applies the same mutations to a store and to the model.

    `sealed` is the model as of the last seal, the state after a rollback or the death of the process.
    """

    changes = Bundle("changes")
    order = BY_OBJECT

    @initialize()
    def open(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="sonicpy-test-"))
        self.store = open_store(self.folder / "store", order=self.order)
        by_association = self.order == BY_ASSOCIATION
        self.model, self.sealed = Model(by_association), Model(by_association)

    def teardown(self) -> None:
        if hasattr(self, "store"):
            self.store.close()
            shutil.rmtree(self.folder)

    def apply(self, mutation: Mutation) -> None:
        assert self.store.apply(mutation) == self.model.apply(mutation)

    @rule(target=changes, scope=scopes, oid=oids, text=texts, window=windows)
    def push(self, scope: tuple[str, str], oid: str, text: Terms, window: int) -> PushTerms:
        mutation = PushTerms(*scope, oid, text, window)
        self.apply(mutation)
        return mutation

    @rule(change=changes)
    def push_again(self, change: PushTerms) -> None:
        self.apply(change)

    @rule(scope=scopes, oid=oids, text=texts)
    def pop(self, scope: tuple[str, str], oid: str, text: Terms) -> None:
        self.apply(PopTerms(*scope, oid, text))

    @rule(change=changes)
    def pop_what_was_pushed(self, change: PushTerms) -> None:
        self.apply(PopTerms(change.collection, change.bucket, change.oid, change.terms))

    @rule(scope=scopes, oid=oids)
    def flush_object(self, scope: tuple[str, str], oid: str) -> None:
        self.apply(FlushObject(*scope, oid))

    @rule(scope=st.sampled_from(SCOPES))
    def flush_bucket(self, scope: tuple[str, str]) -> None:
        self.apply(FlushBucket(*scope))

    @rule(collection=st.sampled_from(["c", "c\0", "cc"]))
    def flush_collection(self, collection: str) -> None:
        self.apply(FlushCollection(collection))

    @rule(scope=scopes, oid=oids, text=texts, window=windows, at=st.integers(0, 12), full=st.booleans())
    def push_through_a_fault(
        self, scope: tuple[str, str], oid: str, text: Terms, window: int, at: int, full: bool
    ) -> None:
        """The fault may undo the work of `maintain` since the last commit, so there must be none."""
        self.store.commit()
        self.sealed = self.model.copy()
        self.apply(PushTerms("c", "b", "o1", terms("a b*2"), 2))
        with failing_writes({at}, lambda: MapFull("on purpose") if full else StoreError("on purpose")):
            self.apply(PushTerms(*scope, oid, text, window))

    @rule()
    def seal(self) -> None:
        self.store.seal()
        self.sealed = self.model.copy()

    @rule()
    def commit(self) -> None:
        self.store.commit()
        self.sealed = self.model.copy()
        assert self.store.uncommitted == 0

    @rule()
    def roll_back(self) -> None:
        roll_back(self.store)
        self.model = self.sealed.copy()

    @rule()
    def consolidate(self) -> None:
        """Afterwards the graph holds the live words, and none of them is pending."""
        self.store.commit()
        self.sealed = self.model.copy()
        pool = GraphPool(self.folder / "graphs")
        for bucket in self.store.pending_buckets():
            with self.store.snapshot() as view:
                words = read_words(view, pool, bucket, GraphLimits())
                built = None if words is None else write_graph(pool, words, GraphLimits())
                scope = view.transaction.get(tables.BUCKETS, bucket.to_bytes(4, "big"))
            if built is None:
                self.store.forget_pending_bucket(bucket)  # it was flushed
                continue
            assert scope is not None
            graph = WordGraph(pool.path(bucket, built.version))
            assert set(graph.words(0, 1000)) == self.model.buckets[scope_of(scope)].live_words()
            assert self.store.maintain(lambda view, built=built: publish(view, [built])) == []
            start: bytes | None = b""
            while start is not None:
                start = self.store.maintain(lambda view, built=built, start=start: prune_pending(view, built, start))
            assert bucket not in self.store.pending_buckets()
        self.store.commit()

    @rule(rows=st.sampled_from([1, 2, 7, 1000]))
    def sweep(self, rows: int) -> None:
        if not self.store.sweep(rows):
            with self.store.reading() as view:
                assert view.transaction.first(tables.DROPPED, b"") is None

    @rule()
    def reopen(self) -> None:
        self.store.close()
        self.store = open_store(self.folder / "store", order=self.order)
        self.sealed = self.model.copy()

    @precondition(lambda self: self.store.uncommitted)
    @rule()
    def die(self) -> None:
        """Give the files the content that a kill -9 would leave."""
        copy = self.folder / "copy"
        shutil.copytree(self.folder / "store", copy)
        survivor = open_store(copy, order=self.order)
        try:
            compare(survivor, self.sealed)
        finally:
            survivor.close()
            shutil.rmtree(copy)

    @invariant()
    def shows_what_the_model_holds(self) -> None:
        compare(self.store, self.model)


class StoreMachineByAssociation(StoreMachine):
    """A StoreMachine whose lists are in the order of association."""

    order = BY_ASSOCIATION


TestStoreMachine = StoreMachine.TestCase
TestStoreMachine.settings = settings(deadline=None, max_examples=examples(40), stateful_step_count=30)
TestStoreMachineByAssociation = StoreMachineByAssociation.TestCase
TestStoreMachineByAssociation.settings = settings(deadline=None, max_examples=examples(40), stateful_step_count=30)


# -- long lists ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("window", [0, 300])
def test_one_word_over_many_blocks_with_objects_going_in_between(tmp_path: Path, order: str, window: int) -> None:
    """The window in a record changes nothing in the store; it only limits the reading of queries."""
    seed = 20_240_600 + window
    dice = random.Random(seed)
    store, model = open_store(tmp_path, order=order), Model(order == BY_ASSOCIATION)
    for number in range(2000):
        text = "word" if number % 3 else f"word*{number % 9 + 1} other{number % 4}"
        if number > 20 and dice.random() < 0.5:
            oid = f"o{dice.randrange(max(0, number - dice.choice([5, 200, 1500])), number)}"
            extra = dice.choice(
                [
                    PopTerms("c", "b", oid, terms("word")),
                    FlushObject("c", "b", oid),
                    push(oid, f"word*{dice.randrange(1, 20)} late", window),
                ]
            )
            assert store.apply(extra) == model.apply(extra), seed
        assert store.apply(push(f"o{number}", text, window)) == model.apply(push(f"o{number}", text, window)), seed
        if number % 400 == 399:
            store.commit()
            _compare_one_bucket(store, model, seed)
    _flush_all(store, model, dice, 2000)
    store.close()


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.full) for seed in range(1, 4))])
def test_words_that_come_late_and_go_again_in_the_middle_of_long_lists(tmp_path: Path, order: str, seed: int) -> None:
    """Blocks split, empty and fill again; objects become shorter than the impacts of their blocks allow."""
    dice = random.Random(seed)
    count = 1200
    store, model = open_store(tmp_path, order=order), Model(order == BY_ASSOCIATION)

    def apply(change: Mutation) -> None:
        assert store.apply(change) == model.apply(change), seed

    for number in range(count):
        apply(push(f"o{number}", "early" if number % 5 else "early seed"))
    for _ in range(3):
        for number in dice.sample(range(count), count // 2):  # late, in any order
            apply(push(f"o{number}", f"word*{dice.choice((1, 1, 3, 255))} long*{dice.randrange(1, 200)}"))
        _compare_one_bucket(store, model, seed)
        if dice.random() < 0.5:
            store.commit()
        start = dice.randrange(count - 300)
        for number in dice.sample(range(start, start + 300), 300):  # whole blocks go
            apply(PopTerms("c", "b", f"o{number}", terms(dice.choice(("word", "word seed", "early")))))
        for number in dice.sample(range(count), 200):  # they become shorter
            apply(PopTerms("c", "b", f"o{number}", terms("long")))
        _compare_one_bucket(store, model, seed)
        for number in dice.sample(range(start, start + 300), 150):
            apply(push(f"o{number}", "word early"))
        _compare_one_bucket(store, model, seed)
    _flush_all(store, model, dice, count)
    store.close()


def _flush_all(store: Store, model: Model, dice: random.Random, count: int) -> None:
    """Flush the objects one by one, until nothing is left."""
    for step, number in enumerate(dice.sample(range(count), count)):
        extra = FlushObject("c", "b", f"o{number}")
        assert store.apply(extra) == model.apply(extra)
        if step % 500 == 0:
            _compare_one_bucket(store, model, step)
    _compare_one_bucket(store, model, count)
    with store.reading() as view:
        emptied = (tables.WORDS, tables.COMMON, tables.TERMS, tables.POSTINGS, tables.IMPACTS)
        assert [view.transaction.count(table) for table in emptied] == [0, 0, 0, 0, 0]


def _compare_one_bucket(store: Store, model: Model, seed: int) -> None:
    with store.reading() as view:
        assert picture(view, "c", "b") == model.buckets["c", "b"].picture(), seed
        assert list(table_faults(view.transaction)) == [], seed
    check_consistent(store)


@pytest.mark.full
def test_rows_of_impacts_split_and_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A row of impacts covers 128 blocks; its first block may be removed, and another block may take the place."""
    store, model = open_store(tmp_path), Model()
    count = 2 * BLOCKS_PER_ROW * POSTINGS_PER_BLOCK + 1000

    def apply(change: PushTerms | PopTerms) -> None:
        store.apply(change)
        model.apply(change)

    store.apply_pushes([push(f"o{number}", "word long*9") for number in range(count)])
    for number in range(count):
        model.apply(push(f"o{number}", "word long*9"))
    assert impact_lowers(store, b"word") == [0, 128 * 128, 2 * 128 * 128]
    for number in range(128 * 128, 128 * 129):  # the first block of the second row
        apply(PopTerms("c", "b", f"o{number}", terms("word")))
    assert impact_lowers(store, b"word") == [0, 128 * 129, 2 * 128 * 128]
    late = f"o{128 * 128 + 7}"  # goes into the last block of the first row, and then becomes shorter
    apply(push(late, "word"))
    apply(PopTerms("c", "b", late, terms("long")))
    for number in range(0, 128 * 8, 2):  # every second of the first blocks goes and comes back
        apply(PopTerms("c", "b", f"o{number}", terms("word")))
    for number in range(0, 128 * 8, 2):
        apply(push(f"o{number}", "word*2"))
    for number in range(128 * 128):  # the first row goes, but for what came late
        apply(PopTerms("c", "b", f"o{number}", terms("word")))
    middle = 128 * 127 + 64  # the late postings split the block and are in its second half
    assert impact_lowers(store, b"word") == [middle, 128 * 129, 2 * 128 * 128]
    _compare_one_bucket(store, model, 0)
    for number in range(100):
        apply(push(f"o{number}", "word"))
    assert impact_lowers(store, b"word") == [0, middle, 128 * 129, 2 * 128 * 128]
    _compare_one_bucket(store, model, 1)
    store.close()


def impact_lowers(store: Store, word: bytes) -> list[int]:
    """Return the numbers in the keys of a word's rows of impacts."""
    with store.reading() as view:
        state = view.bucket("c", "b")
        assert state is not None
        (row,) = BucketReader(view, state).words([word])
        assert row is not None
        return [
            block_position(key) for key in view.transaction.keys(tables.IMPACTS, term_key(state.bucket, row.term_id))
        ]


@pytest.mark.parametrize("order", ORDERS)
def test_blocks_are_filled_to_the_brim(tmp_path: Path, order: str) -> None:
    store = open_store(tmp_path, order=order)
    for number in range(300):
        store.apply(push(f"o{number}", "word"))
    with store.reading() as view:
        state = view.bucket("c", "b")
        assert state is not None
        reader = BucketReader(view, state)
        (word,) = reader.words([b"word"])
        assert word is not None
        assert [posting_count(block) for block in reader.blocks(word)] == [128, 128, 44]
    store.close()


# -- single facts, readable ------------------------------------------------------------------------------------------


@pytest.fixture(params=ORDERS)
def store(tmp_path: Path, request: pytest.FixtureRequest) -> Store:
    return open_store(tmp_path / "store", order=request.param)


def test_the_window_of_a_record_changes_nothing(store: Store) -> None:
    """Lists are complete; the setting limits the objects that a query reads, and others take the place of removed
    ones.
    """
    for number in range(6):
        store.apply(push(f"o{number}", "word extra", 3))
    assert found(store, "word") == ["o5", "o4", "o3", "o2", "o1", "o0"]
    with store.reading() as view:
        state = view.bucket("c", "b")
        assert state is not None
        (row,) = BucketReader(view, state).words([b"word"])
        assert row is not None and row.df == 6
    assert newest(store, "word", 3) == ["o5", "o4", "o3"]
    assert store.apply(PopTerms("c", "b", "o4", terms("word"))) == 1
    assert newest(store, "word", 3) == ["o5", "o3", "o2"]
    store.apply(push("o4", "word", 3))
    again = ["o4", "o5", "o3"] if by_association(store) else ["o5", "o4", "o3"]
    assert newest(store, "word", 3) == again, "late words count by the order of the list"
    check_consistent(store)
    store.close()


@pytest.mark.parametrize("window", [1, 43, 44, 45, 171, 172, 173, 299, 300, 301, 0])
def test_a_window_ends_anywhere_in_a_block(store: Store, window: int) -> None:
    for number in range(300):
        store.apply(push(f"o{number}", "word"))
    assert newest(store, "word", window) == [f"o{number}" for number in reversed(range(300))][: window or 300]
    store.close()


def newest(store: Store, word: str, window: int) -> list[str]:
    """Return the objects that a query for a word finds within a window, checked in both ways in which queries read
    them.
    """
    with store.reading() as view:
        state = view.bucket("c", "b")
        assert state is not None
        reader = BucketReader(view, state)
        (row,) = reader.words([word.encode()])
        assert row is not None
        postings, skipped = reader.newest_postings(row, window)
        table = SonicTable(1, 0)
        table.visit(0, postings, skipped, 1.0, -1)
        table.finish(False)
        iids = [iid for iid, _, _ in table.best_scored(0, 1_000_000)]
        clause = Clause(0, BRINGS, 1.0, [Slot((word.encode(),), 1.0)])
        plan = Plan([clause], 1.0, 1.0, full_first=True, left_out={}, enough=None)
        part = find(bind(plan, reader, window), 1_000_000, total=True)
        assert sorted(iid for iid, _, _ in part.found) == sorted(iids)
        assert part.total == len(iids)
        return reader.oids(iids)


def by_association(store: Store) -> bool:
    with store.reading() as view:
        return view.by_association


def test_pushing_a_text_twice_changes_nothing(store: Store) -> None:
    store.apply(push("o1", "alpha beta*2", 0))
    store.apply(push("o2", "alpha", 0))
    store.commit()
    with store.reading() as view:
        before = [
            list(view.transaction.rows(table, b"")) for table in range(tables.DROPPED + 1) if table != tables.META
        ]
    store.apply(push("o1", "alpha beta*2", 0))
    store.apply(push("o1", "beta", 0))
    store.commit()
    with store.reading() as view:
        after = [list(view.transaction.rows(table, b"")) for table in range(tables.DROPPED + 1) if table != tables.META]
    assert before == after
    assert found(store, "alpha") == ["o2", "o1"]
    store.close()


def test_an_old_object_that_gains_a_term_stands_at_its_head_or_in_its_place(store: Store) -> None:
    store.apply(push("o1", "alpha"))
    store.apply(push("o2", "alpha beta"))
    store.apply(push("o1", "beta"))
    expected = ["o1", "o2"] if by_association(store) else ["o2", "o1"]
    assert (found(store, "alpha"), found(store, "beta")) == (["o2", "o1"], expected)
    store.close()


def test_a_word_is_a_stop_word_of_an_object_only_if_all_its_texts_say_so(store: Store) -> None:
    store.apply(push("o1", "the! fox"))
    store.apply(push("o2", "the!"))
    assert store.apply(FlushObject("c", "b", "o2")) == 0, "an object of stop words only counts none"
    store.apply(push("o1", "the"))
    store.apply(push("o1", "the!"))
    assert store.apply(PopTerms("c", "b", "o1", terms("the! fox"))) == 2
    check_consistent(store)
    store.close()


def test_terms_that_share_their_head_stay_apart(store: Store) -> None:
    one, other = "h" * 466 + "x" * 50, "h" * 466 + "y" * 50
    store.apply(push("o1", one))
    store.apply(push("o2", other))
    assert (found(store, one), found(store, other)) == (["o1"], ["o2"])
    assert store.apply(PopTerms("c", "b", "o1", terms(one))) == 1
    assert (found(store, one), found(store, other)) == ([], ["o2"])
    assert store.apply(FlushObject("c", "b", "o2")) == 1
    check_consistent(store)
    store.close()


def test_a_flushed_bucket_starts_anew_at_once(store: Store) -> None:
    store.apply(push("o1", "alpha"))
    assert store.apply(FlushBucket("c", "b")) == 1
    # In compat mode, which orders lists by association, a bucket is there as long as its collection.
    with store.reading() as view:
        assert store.apply(FlushBucket("c", "b")) == int(view.by_association)
    store.apply(push("o2", "alpha"))
    assert found(store, "alpha") == ["o2"]
    while store.sweep(1):
        check_consistent(store)
    assert found(store, "alpha") == ["o2"]
    check_consistent(store)
    store.close()


def test_an_object_without_words_exists_until_it_is_flushed(store: Store) -> None:
    store.apply(push("o1", ""))
    with store.reading() as view:
        state = view.bucket("c", "b")
        assert state is not None and state.objects == 1
        assert BucketReader(view, state).object("o1") is not None
    assert store.apply(FlushObject("c", "b", "o1")) == 0
    with store.reading() as view:
        state = view.bucket("c", "b")
        assert state is not None and state.objects == 0
    check_consistent(store)
    store.close()


DAMAGED = {tables.WORDS: b"\xff" * 11, tables.COMMON: b"\xff" * 11, tables.IMPACTS: b"\0"}


@pytest.mark.parametrize(
    "table", [tables.WORDS, tables.COMMON, tables.POSTINGS, tables.IMPACTS, tables.OBJECTS, tables.SCOPES]
)
def test_damaged_rows_are_named_as_damage(store: Store, table: int) -> None:
    """Callers get StoreDamaged, whichever layer reads the damaged rows first, and the store continues."""
    if table == tables.IMPACTS and by_association(store):
        pytest.skip("only lists in the order of objects have impacts")
    store.apply(push("o1", "alpha beta"))
    for number in range(POSTINGS_PER_BLOCK):
        store.apply(push(f"other{number}", "alpha beta"))
    store.commit()

    def damage(view: WriteView) -> None:
        for key, row in list(view.transaction.rows(table, b"")):
            damaged = DAMAGED.get(table) or (b"\0\1" + row[2:] if table == tables.OBJECTS else row[:-1] + b"\xff")
            view.transaction.put(table, key, damaged)

    store.maintain(damage)
    store.commit()
    roll_back(store)  # nothing is cached
    for mutation in (
        push("o1", "alpha*3 gamma"),
        PopTerms("c", "b", "o1", terms("alpha")),
        *([] if table == tables.IMPACTS else [FlushObject("c", "b", "o1")]),  # it needs no impacts
    ):
        with pytest.raises(StoreDamaged):
            store.apply(mutation)
    with pytest.raises(StoreDamaged):
        store.apply_pushes([push("o1", "alpha*3 gamma")])
    assert store.apply(push("o1", "alpha", bucket="b2")) == 0
    assert found(store, "alpha", bucket="b2") == ["o1"]
    store.close()


def test_a_bucket_whose_object_numbers_are_used_up_takes_texts_for_those_it_has(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.apply(push("o1", "alpha"))

    def use_up(view: WriteView) -> None:
        view.bucket_to_change("c", "b").next_iid = IID_MAX + 1

    store.maintain(use_up)
    store.commit()
    with pytest.raises(StoreError, match="bucket 0 has used up its 4294967295 object numbers"):
        store.apply(push("o2", "alpha"))
    with pytest.raises(StoreError, match="used up"):
        store.apply_pushes([push("o1", "beta"), push("o2", "alpha")])
    assert (found(store, "alpha"), found(store, "beta")) == (["o1"], [])
    store.apply(push("o1", "beta"))
    assert found(store, "beta") == ["o1"]
    store.close()


def rows_of_lengths(store: Store) -> int:
    with store.reading() as view:
        return view.transaction.count(tables.LENGTHS)


def test_rows_of_lengths_go_with_their_objects(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    count = 3 * OBJECTS_PER_ROW
    store.apply_pushes([push(f"o{number}", "alpha") for number in range(count)])
    store.commit()
    for gone in (range(OBJECTS_PER_ROW, 2 * OBJECTS_PER_ROW), range(2 * OBJECTS_PER_ROW, count)):
        for number in gone:
            store.apply(FlushObject("c", "b", f"o{number}"))
        store.commit()
    assert rows_of_lengths(store) == 1
    store.close()
    store = open_store(tmp_path)
    store.apply(push("late", "beta*7"))
    store.commit()
    assert rows_of_lengths(store) == 2
    check_consistent(store)
    with store.reading() as view:
        state = view.bucket("c", "b")
        assert state is not None
        assert bytes(view.lengths(state)) == bytes([1] * OBJECTS_PER_ROW + [0] * 2 * OBJECTS_PER_ROW + [7])
    store.close()


def test_counters_come_back_from_their_row() -> None:
    numbers = [0, 1, 127, 128, 300, 2**32, 2**63, 2**64 - 1, 5, 6, 7, 2**64 - 1]
    row = BucketState(*numbers).pack()
    assert row == pack_varints(numbers)
    assert [getattr(BucketState.unpack(row), name) for name in FIELD_NAMES] == numbers
