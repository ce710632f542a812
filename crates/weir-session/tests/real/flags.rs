//! Every flag that a session passes exists.

use weir_testkit::real::check_flags;

#[test]
fn every_flag_that_a_session_passes_is_in_the_help_or_is_hidden_and_works() {
    for cli in crate::real_clis() {
        let wrong = check_flags(&cli, weir_session::FLAGS).unwrap();
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}
