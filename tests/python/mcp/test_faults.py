"""A cross-section of the fault lab: quick and telling cases of every group, both tiers, all transports, both eras.

`make faults` runs all of them. Each case is a program of its own, watched from outside: it must end well, leave
nothing behind and, where an error is due, say what happened.
"""

from __future__ import annotations

from typing import Any

import pytest
from faults.harness.cases import CASES
from faults.run import run_case

CROSS_SECTION = """
    healthy@stdio healthy@http healthy@sse
    spawn_missing@stdio exit_before_init@stdio exit_with_grandchild@stdio grandchild_detached@stdio
    auto_reconnect@stdio close_during_call@http cancel_during_connect@stdio
    noise@stdio bom@stdio noise_with_ids@stdio oversize_id_last@stdio
    close_stdin@stdio daemon@stdio exit_with_daemon@stdio ping_storm@stdio
    never@stdio user_cancel@http user_cancel@sse answer_while_list_hangs@http
    unknown_id_first@stdio batch_response@http
    rpc_errors@stdio is_error@http terminal_escapes@http
    content_unknown_type@stdio structured_invalid@http structured_recursive_ref@stdio structured_remote_ref@http
    deep_1e6@stdio int_bomb@http integers@sse numbers@stdio oversize_event@sse big_16mb@http invalid_utf8@stdio
    ask_elicitation@stdio ask_same_id@http storm_list_changed@stdio
    parallel_100@http collateral@http isolation_under_load@stdio
    list_bad_entries@stdio list_cursor_endless@http
    status_429@http status_rpc_error@http session_expired@http session_expired_50@http session_short@sse init_status_401@http
    close_no_response@http redirect_evil_call@http stale_keepalive@http gzip_bomb@http
    sse_dialects@http sse_drop_resumable@http sse_end_no_response@http
    endpoint_evil@sse stream_drop@sse
    secret_in_logs@http env_not_inherited@stdio
    modern_ok@stdio modern_cancel@http modern_discover_garbage@stdio modern_input_required_loop@stdio
    sigint_mid_call@stdio sigkill_parent_stubborn@stdio exit_in_call@stdio run_twice@http
""".split()  # noqa: SIM905
BY_KEY = {case.key: case for case in CASES}


def report(result: dict[str, Any]) -> str:
    """What a failed case said, readable."""
    findings = [f"{finding['verdict']}: {finding['text']}" for finding in result["findings"]]
    return "\n".join([result["trigger"], f"must: {result['correct']}", *findings, *result.get("steps", [])])


# The lab's runner leaves it to the garbage collector to close the pipe from its server.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning")
@pytest.mark.timeout(140)  # a case ends by itself; its processes must not outlive a test that was cut
@pytest.mark.parametrize("key", CROSS_SECTION)
def test_the_hub_survives(key: str) -> None:
    result = run_case(BY_KEY[key], "faults_adapter:ToolHub", None)
    if result["findings"]:  # the bounds are seconds of a real clock: a busy machine gets a second try
        result = run_case(BY_KEY[key], "faults_adapter:ToolHub", None)
    assert not result["findings"], report(result)


def test_the_cross_section_leaves_no_group_out() -> None:
    chosen = [BY_KEY[key] for key in CROSS_SECTION]
    for part in ("group", "tier", "transport"):
        assert {getattr(case, part) for case in chosen} == {getattr(case, part) for case in CASES}
