//! Rebuilds when the page was built.

fn main() {
    if std::env::var("PROFILE").is_ok_and(|profile| profile == "release") {
        // Not `page/dist`, which may be missing: Cargo treats a missing path as changed every time.
        println!("cargo::rerun-if-changed=page");
    } else {
        // A development build reads the page's files on request.
        println!("cargo::rerun-if-changed=build.rs");
    }
}
