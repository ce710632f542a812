//! Builds again when the page was built.

fn main() {
    // The folder may not be there: then the program has no page and says how to get one.
    println!("cargo::rerun-if-changed=../../web/dist");
}
