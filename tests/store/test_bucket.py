"""Buckets compared with a reference implementation, in any run of changes, commits, faults and restarts."""

import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, precondition, rule

from sonicpy._native.terms import PART, STOP, Terms
from sonicpy.errors import StoreError
from sonicpy.graph.graph_pool import GraphPool
from sonicpy.graph.word_graph import WordGraph
from sonicpy.index.maintenance.consolidate import GraphLimits, prune_pending, publish, read_words, write_graph
from sonicpy.store.changing.mutations import FlushBucket, FlushCollection, FlushObject, Mutation, PopTerms, PushTerms
from sonicpy.store.disk import table_numbers as tables
from sonicpy.store.disk.table_rows import MapFull
from sonicpy.store.rows.keys import scope_of
from sonicpy.store.rows.meta import BY_ASSOCIATION, BY_OBJECT
from sonicpy.store.store import Store
from tests.reference.store import Model
from tests.store.consistency import check_consistent
from tests.store.shorthand import open_store, picture, terms
from tests.store.trouble import failing_writes, roll_back
from tests.support.examples import examples

pytestmark = pytest.mark.usefixtures("few_names_wait")
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
                self.store.forget_bucket(bucket)  # it was flushed
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
