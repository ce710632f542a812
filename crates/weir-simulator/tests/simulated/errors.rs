//! API errors.

use crate::support::Start;

#[test]
fn a_temporary_error_is_reported_and_retried() {
    let cli = Start::new(&[]).start();
    cli.script(r#"[{"status":429,"etype":"rate_limit_error","msg":"too many","headers":{"retry-after":"1"},"times":2,"text":"after"}]"#).result(1);
    let done = cli.end();
    let tries = done.of("system", Some("api_retry"));
    assert_eq!(tries.len(), 2);
    assert_eq!(
        (tries[1].integer_of("attempt"), tries[1].integer_of("retry_delay_ms"), tries[1].str_of("error")),
        (Some(2), Some(1000), Some("rate_limit"))
    );
    assert_eq!((done.answers(), done.exit.code), (vec!["after"], Some(0)));
}

#[test]
fn a_permanent_error_is_a_success_result_with_is_error() {
    for (status, kind, reason) in [
        (400, "invalid_request_error", "api_error"),
        (529, "overloaded_error", "api_error"),
        (403, "permission_error", "api_error"),
    ] {
        let cli = Start::new(&[]).start();
        cli.script(&format!(r#"[{{"status":{status},"etype":"{kind}","msg":"no"}}]"#));
        let result = cli.result(1);
        assert_eq!((result.str_of("subtype"), result.is_true("is_error")), (Some("success"), true));
        assert_eq!(
            (result.integer_of("api_error_status"), result.str_of("terminal_reason")),
            (Some(status), Some(reason))
        );
        cli.script(r#"[{"text":"it continues"}]"#).result(2);
        let done = cli.end();
        assert_eq!(done.answers()[1], "it continues");
        assert!(done.of("assistant", None)[0].is_true("is_api_error_message"));
    }
}

#[test]
fn the_status_is_one_if_the_last_result_is_an_error() {
    let cli = Start::new(&[]).env("CLAUDE_CODE_MAX_RETRIES", "0").start();
    cli.script(r#"[{"status":500,"msg":"boom"}]"#).result(1);
    assert_eq!(cli.end().exit.code, Some(1));
}

#[test]
fn the_older_version_retries_silently() {
    let cli = Start::new(&[]).old().start();
    cli.script(r#"[{"status":401,"times":1,"text":"after"}]"#).result(1);
    let done = cli.end();
    assert!(done.of("system", Some("api_retry")).is_empty());
    assert_eq!(done.answers(), ["after"]);
}
