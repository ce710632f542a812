//! The Markdown checklist: `- [ ] what to do`, nested; the leaves are the tasks.
//!
//! ```markdown
//! - [ ] Parser                             a group: done when its tasks are done
//!   - [ ] Read quoted fields {#quotes}     a task with a given name
//!     Details of the task.
//!     - accept: `cargo test quotes` passes
//!   - [ ] Report the line of an error
//!     - needs: quotes
//! ```

use super::slug::{Namer, is_plain};
use super::{Task, TaskId};

/// A checkbox and its content.
#[derive(Debug)]
struct Item {
    indent: usize,
    line: usize,
    title: String,
    name: Option<String>,
    done: bool,
    details: String,
    acceptance: Vec<String>,
    needs: Vec<String>,
    touch: Vec<String>,
}

/// A line with a checkbox.
struct Checkbox<'a> {
    indent: usize,
    /// Byte offset of the letter in the box.
    mark: usize,
    done: bool,
    text: &'a str,
}

fn checkbox(line: &str) -> Option<Checkbox<'_>> {
    let trimmed = line.trim_start();
    let indent = width(line.get(..line.len() - trimmed.len())?);
    let rest = trimmed.strip_prefix(['-', '*', '+'])?.trim_start();
    let inside = rest.strip_prefix('[')?;
    let mut letters = inside.chars();
    let (mark, close) = (letters.next()?, letters.next()?);
    let text = letters.as_str();
    if close != ']' || !matches!(mark, ' ' | 'x' | 'X') || !(text.is_empty() || text.starts_with([' ', '\t']))
    {
        return None;
    }
    let mark_offset = line.len() - inside.len();
    Some(Checkbox { indent, mark: mark_offset, done: mark != ' ', text: text.trim() })
}

/// The width of indentation. A tab counts as four spaces.
fn width(space: &str) -> usize {
    space.chars().map(|letter| if letter == '\t' { 4 } else { 1 }).sum()
}

fn items(text: &str) -> Vec<Item> {
    let mut items: Vec<Item> = Vec::new();
    let mut fence: Option<&str> = None;
    let mut is_open = true;
    for (number, line) in text.lines().enumerate() {
        let trimmed = line.trim_start();
        let mark = ["```", "~~~"].into_iter().find(|mark| trimmed.starts_with(mark));
        let is_code = fence.is_some() || mark.is_some();
        match (fence, mark) {
            (None, Some(mark)) => fence = Some(mark),
            (Some(open), Some(mark)) if open == mark => fence = None,
            _ => {}
        }
        match checkbox(line).filter(|_| !is_code) {
            Some(found) => {
                let (title, name) = title(found.text);
                is_open = true;
                items.push(Item {
                    indent: found.indent,
                    line: number,
                    title,
                    name,
                    done: found.done,
                    details: String::new(),
                    acceptance: Vec::new(),
                    needs: Vec::new(),
                    touch: Vec::new(),
                });
            }
            None => {
                let indent = width(line.get(..line.len() - trimmed.len()).unwrap_or_default());
                let item =
                    items.last_mut().filter(|item| is_open && (trimmed.is_empty() || indent > item.indent));
                match item {
                    Some(item) => item.add(trimmed, is_code),
                    // Text that is not indented ends the item.
                    None => is_open &= trimmed.is_empty(),
                }
            }
        }
    }
    items
}

impl Item {
    fn add(&mut self, line: &str, is_code: bool) {
        let bullet = line.strip_prefix(['-', '*', '+']).map_or(line, str::trim_start);
        match bullet.split_once(':').filter(|_| !is_code) {
            Some((key, value)) if key.eq_ignore_ascii_case("needs") || key.eq_ignore_ascii_case("after") => {
                self.needs.extend(
                    value.split(',').map(|need| need.trim().to_owned()).filter(|need| !need.is_empty()),
                );
            }
            Some((key, value)) if key.eq_ignore_ascii_case("touch") => {
                let patterns = value.split(',').map(|pattern| pattern.trim().trim_matches('`'));
                self.touch.extend(patterns.filter(|pattern| !pattern.is_empty()).map(str::to_owned));
            }
            Some((key, value))
                if key.eq_ignore_ascii_case("accept") || key.eq_ignore_ascii_case("acceptance") =>
            {
                if !value.trim().is_empty() {
                    self.acceptance.push(value.trim().to_owned());
                }
            }
            _ => {
                self.details.push_str(line);
                self.details.push('\n');
            }
        }
    }
}

/// The title without its name, and the name: `Title {#name}`.
fn title(text: &str) -> (String, Option<String>) {
    let named = text.strip_suffix('}').and_then(|text| text.rsplit_once("{#"));
    match named.filter(|(_, name)| is_plain(name)) {
        Some((title, name)) => (title.trim_end().to_owned(), Some(name.to_owned())),
        None => (text.to_owned(), None),
    }
}

/// The groups that an item is in, outermost first.
fn ancestors(items: &[Item], place: usize) -> Vec<usize> {
    let mut found = Vec::new();
    let Some(mut indent) = items.get(place).map(|item| item.indent) else { return found };
    for (at, item) in items.iter().enumerate().take(place).rev() {
        if indent == 0 {
            // This is the outermost level.
            break;
        }
        if item.indent < indent {
            found.push(at);
            indent = item.indent;
        }
    }
    found.reverse();
    found
}

fn is_leaf(items: &[Item], place: usize) -> bool {
    match (items.get(place), items.get(place + 1)) {
        (Some(item), Some(next)) => next.indent <= item.indent,
        _ => true,
    }
}

/// The tasks of a list, each with the index of its item.
fn leaves(items: &[Item]) -> Vec<(usize, TaskId)> {
    let mut namer = Namer::default();
    let places: Vec<usize> = (0..items.len()).filter(|place| is_leaf(items, *place)).collect();
    // Given names come first, so that none of them is generated for another task.
    let given: Vec<Option<TaskId>> = places
        .iter()
        .map(|place| items.get(*place).and_then(|item| item.name.as_deref()).map(|name| namer.given(name)))
        .collect();
    places
        .into_iter()
        .zip(given)
        .map(|(place, given)| {
            let title = items.get(place).map(|item| item.title.as_str()).unwrap_or_default();
            (place, given.unwrap_or_else(|| namer.make_from(title)))
        })
        .collect()
}

pub(super) fn parse(text: &str) -> Vec<Task> {
    let items = items(text);
    let mut tasks = Vec::new();
    for (place, id) in leaves(&items) {
        let Some(item) = items.get(place) else { continue };
        let groups: Vec<&Item> =
            ancestors(&items, place).into_iter().filter_map(|at| items.get(at)).collect();
        let with = |part: fn(&Item) -> &Vec<String>| -> Vec<String> {
            groups.iter().flat_map(|group| part(group)).chain(part(item)).cloned().collect()
        };
        let details = groups.iter().map(|group| group.details.as_str()).chain([item.details.as_str()]);
        tasks.push(Task {
            id,
            title: item.title.clone(),
            context: groups.iter().map(|group| group.title.clone()).collect(),
            details: details.collect::<String>().trim().to_owned(),
            acceptance: with(|item| &item.acceptance),
            touch: with(|item| &item.touch),
            needs: with(|item| &item.needs).into_iter().map(TaskId::new).collect(),
            done: item.done || groups.iter().any(|group| group.done),
        });
    }
    tasks
}

/// Checks the box of a task, and of the groups that this completes. `None` if there is no such task.
pub(super) fn mark_done(text: &str, id: &TaskId) -> Option<String> {
    let mut items = items(text);
    let (place, _) = leaves(&items).into_iter().find(|(_, found)| found == id)?;
    let mut lines = Vec::new();
    check(&mut items, place, &mut lines);
    for group in ancestors(&items, place).into_iter().rev() {
        let indent = items.get(group).map_or(0, |item| item.indent);
        let below = items.iter().skip(group + 1).take_while(|item| item.indent > indent);
        if !below.clone().all(|item| item.done) {
            break;
        }
        check(&mut items, group, &mut lines);
    }
    let mut edited = String::with_capacity(text.len());
    for (number, line) in text.split_inclusive('\n').enumerate() {
        match checkbox(line.trim_end_matches(['\n', '\r'])).filter(|_| lines.contains(&number)) {
            Some(found) => {
                edited.push_str(line.get(..found.mark).unwrap_or_default());
                edited.push('x');
                edited.push_str(line.get(found.mark + 1..).unwrap_or_default());
            }
            None => edited.push_str(line),
        }
    }
    Some(edited)
}

fn check(items: &mut [Item], place: usize, lines: &mut Vec<usize>) {
    if let Some(item) = items.get_mut(place).filter(|item| !item.done) {
        item.done = true;
        lines.push(item.line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = "# Plan\n\n\
        - [ ] Parser\n  - [x] Old thing\n  - [ ] Read `quotes` {#quotes}\n    More about it.\n    - accept: tests pass\n    - [ ] not me\n\
        * [ ] Report errors\n    - needs: not-me\n    ```\n    - [ ] code is not a task\n    ```\n";

    fn names(text: &str) -> Vec<(String, bool)> {
        parse(text).into_iter().map(|task| (task.id.to_string(), task.done)).collect()
    }

    #[test]
    fn leaves_are_tasks_and_groups_are_context() {
        let tasks = parse(LIST);
        let names: Vec<&str> = tasks.iter().map(|task| task.id.as_str()).collect();
        assert_eq!(names, ["old-thing", "not-me", "report-errors"]);
        assert_eq!(tasks[1].context, ["Parser", "Read `quotes`"]);
        assert_eq!(tasks[1].acceptance, ["tests pass"]);
        assert_eq!(tasks[1].details, "More about it.");
        assert_eq!(tasks[2].needs, [TaskId::new("not-me")]);
        assert!(tasks[2].details.contains("code is not a task"));
    }

    #[test]
    fn marking_a_task_also_checks_the_groups_that_it_completes() {
        let done = mark_done(LIST, &TaskId::new("not-me")).unwrap();
        let expected = LIST
            .replace("- [ ] not me", "- [x] not me")
            .replace("- [ ] Read", "- [x] Read")
            .replace("- [ ] Parser", "- [x] Parser");
        assert_eq!(done, expected);
        assert_eq!(mark_done(&done, &TaskId::new("not-me")).as_ref(), Some(&done));
        assert_eq!(mark_done(&done, &TaskId::new("missing")), None);
    }

    #[test]
    fn line_endings_and_invalid_boxes_are_preserved() {
        let text = "- [ ] one\r\n- [-] no box\r\n- [ ]two\r\n-  [ ] three";
        assert_eq!(names(text), [("one".into(), false), ("three".into(), false)]);
        let done = mark_done(text, &TaskId::new("three")).unwrap();
        assert_eq!(done, "- [ ] one\r\n- [-] no box\r\n- [ ]two\r\n-  [x] three");
    }

    #[test]
    fn same_titles_get_different_names_that_stay_when_boxes_are_checked() {
        let text = "- [ ] Test\n- [ ] Test\n- [ ] other {#test-2}\n";
        let before: Vec<String> = names(text).into_iter().map(|(name, _)| name).collect();
        assert_eq!(before, ["test", "test-3", "test-2"]);
        let done = mark_done(text, &TaskId::new("test")).unwrap();
        assert_eq!(names(&done), [("test".into(), true), ("test-3".into(), false), ("test-2".into(), false)]);
    }

    #[test]
    fn all_tasks_in_a_checked_group_are_done() {
        assert_eq!(names("- [x] all\n  - [ ] a\n  - [ ] b\n"), [("a".into(), true), ("b".into(), true)]);
    }

    proptest::proptest! {
        #[test]
        fn marking_a_task_changes_boxes_only(text in "([ \t]{0,6}[-*] \\[[ xX]\\] [a-c]{1,3}( \\{#[a-z]{1,2}\\})?\r?\n|[ ]{0,4}(needs: )?[a-z`]{0,6}\n){0,12}") {
            let tasks = parse(&text);
            // A duplicate name is refused before anything is marked.
            let is_unique = |id: &TaskId| tasks.iter().filter(|other| other.id == *id).count() == 1;
            for task in tasks.iter().filter(|task| !task.done && is_unique(&task.id)) {
                let done = mark_done(&text, &task.id).unwrap();
                proptest::prop_assert_eq!(done.len(), text.len());
                let changed = text.chars().zip(done.chars()).filter(|(a, b)| a != b);
                proptest::prop_assert!(changed.clone().all(|(a, b)| (a, b) == (' ', 'x')));
                proptest::prop_assert!(changed.count() >= 1);
                let again = parse(&done).into_iter().find(|other| other.id == task.id);
                proptest::prop_assert!(again.is_some_and(|other| other.done));
            }
        }
    }
}
