//! Exporting logs as lines.

use weir_store::{Append, NewEvent, export_lines};

use crate::support::{create, id, on_each};

#[test]
fn lines_are_exported_unchanged() {
    on_each(|store| {
        let one = create(store, "one");
        let mut expected = Vec::new();
        let events = (0..1_200).map(|number| {
            let line = format!("{{\"number\":{number}}}");
            let kind = if number % 3 == 0 { "host" } else { "line" };
            if kind == "line" {
                expected.extend_from_slice(line.as_bytes());
                expected.push(b'\n');
            }
            NewEvent::new(1, kind, line.into_bytes())
        });
        let events = events.collect();
        store.append(Append::new(one.clone(), events)).wait().unwrap();
        let mut written = Vec::new();
        let lines = export_lines(store, &one, |event| event.kind == "line", &mut written).unwrap();
        assert_eq!(lines, 800);
        assert!(written == expected);
        assert!(export_lines(store, &id("none"), |_| true, &mut Vec::new()).is_err());
    });
}
