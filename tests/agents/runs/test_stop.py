import os
import signal

import pytest

from agents.runs.stop import SIGNALS, Stopped, StopRequest, stopping_at_once


@pytest.mark.parametrize("number", SIGNALS)
def test_a_stop_is_noted_and_the_next_signal_has_its_usual_effect(number):
    usual = signal.getsignal(number)
    stop = StopRequest()
    with stop.listening():
        os.kill(os.getpid(), number)
        assert stop.signal == number
        assert signal.getsignal(number) == usual
    assert signal.getsignal(number) == usual


def test_the_first_request_counts():
    stop = StopRequest()
    stop.ask(signal.SIGPIPE)
    stop.ask(signal.SIGINT)
    assert stop.signal == signal.SIGPIPE


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_raises_where_nothing_has_to_be_saved(number):
    usual = signal.getsignal(number)
    with pytest.raises(Stopped) as stopped, stopping_at_once():
        os.kill(os.getpid(), number)
    assert stopped.value.signal == number
    assert signal.getsignal(number) == usual


def test_an_ignored_hang_up_stays_ignored():
    usual = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        stop = StopRequest()
        with stop.listening():
            os.kill(os.getpid(), signal.SIGHUP)
        assert stop.signal == 0
    finally:
        signal.signal(signal.SIGHUP, usual)
