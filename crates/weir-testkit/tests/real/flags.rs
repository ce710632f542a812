//! Every flag that is passed exists.

use weir_testkit::real::{FLAGS, RealCli, check_flags};

#[test]
fn every_flag_is_in_the_help_or_is_hidden_and_works() {
    let names: Vec<&str> = FLAGS.iter().map(|flag| flag.name).chain(["--from-the-future"]).collect();
    for cli in RealCli::required() {
        let wrong = check_flags(&cli, &names).unwrap();
        // One that is not in the table shows that the check can fail.
        assert_eq!(wrong.len(), 1, "{}", wrong.join("\n"));
        assert!(wrong[0].contains("--from-the-future is not in the table"), "{}", wrong[0]);
    }
}
