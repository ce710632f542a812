//! Builds again when the page was built.

fn main() {
    // Not `page/dist`, which may not be there: Cargo takes a missing path for a changed one, each time.
    println!("cargo::rerun-if-changed=page");
}
