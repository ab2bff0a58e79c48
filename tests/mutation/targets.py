"""The files to mutate, the most mutants of each, and the tests that may detect them."""

from dataclasses import dataclass

MUTANTS_MAX = 600
"""The most mutants of all targets together; also the default of --most, the most of each."""


@dataclass(frozen=True, slots=True)
class Target:
    """A Python file.

    Attributes:
        most: the most mutants of the file.
        tests: files and folders whose tests are measured: those that run a line judge its mutants.
        always: tests that judge every mutant, because they run the file in processes that are not measured.
    """

    most: int
    tests: tuple[str, ...]
    always: tuple[str, ...] = ()


CLIENT = ("tests/client/test_conversation.py", "tests/client/test_pushes.py", "tests/client/test_resending.py",
          "tests/client/test_faults.py")  # fmt: skip

STORE = ("tests/store/test_store.py", "tests/store/test_recover.py", "tests/store/test_readers.py",
         "tests/store/test_mutations.py", "tests/index/test_push_many.py", "tests/index/test_open.py",
         "tests/store/test_sweep.py", "tests/store/test_snapshot.py", "tests/index/test_answer_cache.py",
         "tests/store/test_open_transaction.py", "tests/store/test_removals.py", "tests/store/test_waiting_rows.py",
         "tests/store/test_background_sync.py", "tests/store/test_free_space.py", "tests/store/test_kept_caches.py",
         "tests/store/test_convert.py::test_every_word_finds_every_object")  # fmt: skip

TARGETS = {
    "sonicpy/store/disk/log.py": Target(
        130,
        ("tests/store/test_log.py", "tests/store/test_damaged_log.py", "tests/store/test_verify.py",
         "tests/store/test_recover.py", "tests/store/test_store.py", "tests/store/test_interrupted_rotation.py",
         "tests/index/test_failed_sync.py"),
        ("tests/store/test_synced.py",),
    ),
    "sonicpy/store/store.py": Target(
        65,
        STORE,
        ("tests/store/test_synced.py",),
    ),
    "sonicpy/store/recovery.py": Target(65, STORE, ("tests/store/test_synced.py",)),
    "sonicpy/store/refused_changes.py": Target(20, (*STORE, "tests/index/test_failed_sync.py")),
    "sonicpy/store/disk/folder.py": Target(
        60,
        ("tests/store/test_folder.py", "tests/store/test_store.py", "tests/index/test_open.py",
         "tests/index/test_read_only.py"),
        ("tests/store/test_synced.py::test_the_boot_mark_is_replaced_whole_and_says_clean_last",),
    ),
    "sonicpy/server/connections/passwords.py": Target(60, ("tests/server/test_passwords.py",)),
    "sonicpy/client/conversation.py": Target(90, CLIENT),
    "sonicpy/client/pushes.py": Target(70, CLIENT),
}  # fmt: skip
