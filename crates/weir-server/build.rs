//! Builds again when the page was built.

fn main() {
    if std::env::var("PROFILE").is_ok_and(|profile| profile == "release") {
        // Not `page/dist`, which may not be there: Cargo takes a missing path for a changed one, each time.
        println!("cargo::rerun-if-changed=page");
    } else {
        // A development build reads the page's files when they are asked for.
        println!("cargo::rerun-if-changed=build.rs");
    }
}
