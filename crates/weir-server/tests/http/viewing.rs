//! Files of a session's folder: what is shown, as what, and what is refused.

use std::path::Path;

use serde_json::json;
use weir_server::Role;

use crate::support::Place;

#[tokio::test]
async fn files_of_the_folder_are_shown_and_nothing_else() {
    let place = Place::new().await;
    let id = place.session().await;
    let root = place.root();
    let folder = Path::new(&root);
    std::fs::create_dir(folder.join("src")).unwrap();
    std::fs::write(folder.join("src/a b\n<i>.txt"), "text\n").unwrap();
    std::fs::write(folder.join("page.html"), "<script>alert(1)</script>").unwrap();
    std::fs::write(folder.join("fake.svg"), b"\x89PNG\r\n\x1a\n rest").unwrap();
    std::os::unix::fs::symlink("/etc", folder.join("etc")).unwrap();
    let get = async |route: &str, path: &str| {
        place.get(Role::Driver, &format!("/v1/sessions/{id}/{route}?path={path}")).await
    };
    let tree = get("tree", "").await.json();
    let names: Vec<_> =
        tree["entries"].as_array().unwrap().iter().map(|entry| entry["name"].clone()).collect();
    assert_eq!(names, ["src", "fake.svg", "page.html", "etc"]);
    let entry = get("tree", "src").await.json()["entries"][0].clone();
    assert_eq!(entry, json!({"name": "a b\n<i>.txt", "path": "src/a b\n<i>.txt", "kind": "file", "size": 5}));
    let file = get("file", "src/a%20b%0A%3Ci%3E.txt").await.json();
    assert_eq!(
        (&file["kind"], &file["text"], &file["edited"]),
        (&json!("text"), &json!("text\n"), &json!([]))
    );

    // A page is never shown as one.
    let raw = get("file/raw", "page.html").await;
    assert_eq!(
        (raw.header("content-type"), raw.header("content-disposition")),
        ("application/octet-stream", "attachment")
    );
    assert_eq!(raw.header("x-content-type-options"), "nosniff");
    assert_eq!(get("file/raw", "fake.svg").await.header("content-type"), "image/png");

    for path in
        ["..", "../x", "%2Fetc%2Fpasswd", "etc%2Fpasswd", "src%2F..%2F..%2Fx", "none", "a%00b", "-", "~%2Fx"]
    {
        for route in ["tree", "file", "file/raw"] {
            assert_eq!(get(route, path).await.problem(422), "invalid", "{route} {path}");
        }
    }
    let answer = place.get(Role::Driver, &format!("/v1/sessions/{id}/file?path=x&root=/")).await;
    assert_eq!(answer.problem(400), "query");
}
