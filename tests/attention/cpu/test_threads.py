import threading

import pytest

from cellformer.attention.cpu import threads
from cellformer.attention.cpu.threads import on_threads

both_ways = pytest.mark.parametrize("openmp", [True, False])


@pytest.fixture
def way(openmp, monkeypatch):
    """Through the OpenMP runtime of PyTorch, or as where it has none of that kind."""
    if not openmp:
        monkeypatch.setattr(threads, "_openmp_parallel", lambda: None)
    elif threads._openmp_parallel() is None:
        pytest.skip("PyTorch's OpenMP runtime has no GOMP_parallel on this system")


@both_ways
@pytest.mark.parametrize("count", [1, 2, 4])
def test_work_is_done_on_as_many_threads_as_asked(way, count):
    together = threading.Barrier(count, timeout=30)  # passed only by so many at once
    seen = []

    def work():
        together.wait()
        seen.append(threading.get_ident())

    on_threads(work, count)
    assert len(seen) == len(set(seen)) == count
    assert threading.get_ident() in seen


@both_ways
def test_an_error_in_any_thread_is_raised_in_the_calling_one(way):
    caller = threading.get_ident()

    def work():
        if threading.get_ident() != caller:
            raise ArithmeticError("in a helping thread")

    with pytest.raises(ArithmeticError, match="in a helping thread"):
        on_threads(work, 2)
    on_threads(lambda: None, 2)  # and nothing is left in disorder


@both_ways
def test_several_python_threads_may_ask_at_once(way):
    done = []
    callers = [
        threading.Thread(target=on_threads, args=(lambda: done.append(1), 2)) for _ in range(6)
    ]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert len(done) == 12
