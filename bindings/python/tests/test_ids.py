"""`wellspring.ids`: the types, the order, and no repetition in threads and children."""

import copy
import os
import pickle
import re
import threading
import time
import uuid

import pytest

from wellspring import ids

COARSE = 5
"""CLOCK_REALTIME_COARSE of Linux."""


@pytest.mark.parametrize(("make", "version"), [(ids.uuid4, 4), (ids.uuid7, 7)])
def test_uuids_are_those_of_the_standard_library(make, version):
    made = make()
    assert type(made) is uuid.UUID and made.version == version and made.variant == uuid.RFC_4122
    same = uuid.UUID(str(made))
    assert same == made and hash(same) == hash(made) and made.is_safe is same.is_safe
    assert pickle.loads(pickle.dumps(made)) == copy.deepcopy(made) == made
    with pytest.raises(TypeError):
        made.int = 1


def test_texts_have_their_form():
    for text, version in ((ids.uuid4_text(), 4), (ids.uuid7_text(), 7)):
        assert str(uuid.UUID(text)) == text and uuid.UUID(text).version == version
    assert uuid.UUID(bytes=ids.uuid4_bytes()).version == 4 and uuid.UUID(bytes=ids.uuid7_bytes()).version == 7
    assert re.fullmatch("[0-7][0-9A-HJKMNP-TV-Z]{25}", ids.ulid())
    assert re.fullmatch("[0-9a-f]{32}", ids.trace_id())
    assert re.fullmatch("[0-9a-f]{64}", ids.trace_id(32))


def test_identifiers_with_a_time_ascend_and_have_the_clocks():
    for make in (ids.uuid7, ids.uuid7_text, ids.ulid):
        made = [make() for _ in range(10_000)]
        assert made == sorted(set(made))
    before = time.clock_gettime(COARSE)
    made = ids.uuid7().int >> 80
    after = time.clock_gettime(COARSE)
    assert int(before * 1000) <= made <= int(after * 1000) + 1


def test_wrong_arguments_are_refused():
    for wrong in (0, -1, 8, 17, 2**70):
        with pytest.raises((ValueError, OverflowError)):
            ids.trace_id(wrong)
    with pytest.raises(TypeError):
        ids.trace_id("16")
    with pytest.raises(TypeError):
        ids.uuid7(1)


def test_threads_and_children_repeat_nothing():
    made = []
    threads = [threading.Thread(target=lambda: made.extend(ids.uuid7() for _ in range(5000))) for _ in range(4)]
    for thread in threads:
        thread.start()
    ends = os.pipe()
    for _ in range(8):
        pid = os.fork()
        if pid == 0:
            os.write(ends[1], ids.uuid7().bytes)
            os._exit(0)
        assert os.waitpid(pid, 0)[1] == 0
        made.append(ids.uuid7())
    for thread in threads:
        thread.join()
    made += [uuid.UUID(bytes=os.read(ends[0], 16)) for _ in range(8)]
    assert len(set(made)) == 20_016
