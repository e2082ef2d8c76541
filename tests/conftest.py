"""What holds for all tests: property tests are not timed, and Ctrl-C ends what a test starts."""

from __future__ import annotations

import signal
from importlib.util import find_spec

if find_spec("hypothesis"):
    from hypothesis import HealthCheck, settings

    # A busy machine is no defect.
    settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.load_profile("unhurried")

# A shell starts what runs in the background with Ctrl-C ignored, and whatever that starts inherits it: a test that
# interrupts a command would wait for ever.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
