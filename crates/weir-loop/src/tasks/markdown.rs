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
use super::{Task, TaskError, TaskId, TaskOptions};

/// A checkbox and its content.
#[derive(Debug)]
struct Item {
    indent: usize,
    /// Where its text is indented to.
    content: usize,
    line: usize,
    title: String,
    name: Option<String>,
    done: bool,
    details: String,
    acceptance: Vec<String>,
    needs: Vec<String>,
    touch: Vec<String>,
    options: TaskOptions,
}

/// A line with a checkbox.
struct Checkbox<'a> {
    indent: usize,
    /// Where its text would have to be indented to.
    content: usize,
    /// Byte offset of the letter in the box.
    mark: usize,
    done: bool,
    text: &'a str,
}

/// What follows the bullet or number of an item, and the width of that.
fn after_bullet(text: &str) -> Option<(&str, usize)> {
    if let Some(rest) = text.strip_prefix(['-', '*', '+']) {
        return Some((rest, 1));
    }
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let rest = text.get(digits..)?.strip_prefix(['.', ')'])?;
    (1..=9).contains(&digits).then_some((rest, digits + 1))
}

/// The box of a line. An error if it looks like one, and Markdown would not show one.
fn checkbox(line: &str) -> Result<Option<Checkbox<'_>>, TaskError> {
    let wrong = |text: &str| Err(TaskError::Box(text.to_owned()));
    let trimmed = line.trim_start();
    let indent = width(line.get(..line.len() - trimmed.len()).unwrap_or_default());
    let Some((after, bullet)) = after_bullet(trimmed) else { return Ok(None) };
    let rest = after.trim_start();
    let Some(inside) = rest.strip_prefix('[') else { return Ok(None) };
    let is_over = |text: &str| text.is_empty() || text.starts_with([' ', '\t']);
    if inside.strip_prefix(']').is_some_and(is_over) {
        return wrong("a box without anything in it: write it as `[ ]`");
    }
    let mut letters = inside.chars();
    let (Some(mark), Some(']')) = (letters.next(), letters.next()) else { return Ok(None) };
    let text = letters.as_str();
    // A link may be called `x`.
    if !matches!(mark, ' ' | 'x' | 'X') || (mark != ' ' && text.starts_with(['(', '[', ':'])) {
        return Ok(None);
    }
    if !is_over(text) {
        return wrong("a box needs a space after it");
    }
    if rest.len() == after.len() {
        return wrong("a box needs a space before it");
    }
    if title(text.trim()).0.is_empty() {
        return wrong("a box without text");
    }
    let content = indent + bullet + width(after.get(..after.len() - rest.len()).unwrap_or_default());
    let mark_offset = line.len() - inside.len();
    Ok(Some(Checkbox { indent, content, mark: mark_offset, done: mark != ' ', text: text.trim() }))
}

/// The width of indentation. A tab counts as four spaces.
fn width(space: &str) -> usize {
    space.chars().map(|letter| if letter == '\t' { 4 } else { 1 }).sum()
}

/// The fence with which a line opens or closes a block of code: its letter and length, and what follows.
fn fence(trimmed: &str) -> Option<(char, usize, &str)> {
    let letter = trimmed.chars().next().filter(|letter| matches!(letter, '`' | '~'))?;
    let rest = trimmed.trim_start_matches(letter);
    let length = trimmed.len() - rest.len();
    // Otherwise it is code within a line.
    (length >= 3 && !(letter == '`' && rest.contains('`'))).then_some((letter, length, rest))
}

/// Reads a list line by line.
#[derive(Default)]
struct Reader {
    items: Vec<Item>,
    /// The fence of a block of code, and its line.
    fence: Option<(char, usize, usize)>,
    is_comment: bool,
    /// Whether text that is indented belongs to the last item.
    is_open: bool,
    /// Whether the last line was empty, or code.
    is_apart: bool,
    /// Whether a block of code holds boxes.
    has_hidden: bool,
}

impl Reader {
    fn read(&mut self, number: usize, line: &str) -> Result<(), TaskError> {
        let trimmed = line.trim_start();
        let indent = width(line.get(..line.len() - trimmed.len()).unwrap_or_default());
        if let Some((letter, length, _)) = self.fence {
            let closes = fence(trimmed)
                .is_some_and(|(own, count, rest)| own == letter && count >= length && rest.trim().is_empty());
            self.has_hidden |= matches!(checkbox(line), Ok(Some(_)));
            if closes {
                self.fence = None;
            }
            return self.add(trimmed, indent, true);
        }
        if self.is_comment || trimmed.starts_with("<!--") {
            self.is_comment = !trimmed.contains("-->");
            return Ok(());
        }
        if let Some((letter, length, _)) = fence(trimmed) {
            self.fence = Some((letter, length, number));
            self.has_hidden = false;
            return self.add(trimmed, indent, true);
        }
        let is_apart = std::mem::replace(&mut self.is_apart, trimmed.is_empty());
        let outer = self.items.iter().rev().filter(|_| self.is_open).find(|item| item.indent < indent);
        let is_code = indent >= outer.map_or(0, |item| item.content) + 4;
        if is_code && is_apart {
            self.is_apart = true;
            return self.add(trimmed, indent, true);
        }
        let Some(found) = checkbox(line)? else { return self.add(trimmed, indent, false) };
        if is_code {
            let text = "a box that is indented too far to be an item: indent it by two to five spaces more than the item that \
                        it is below";
            return Err(TaskError::Box(text.to_owned()));
        }
        let (title, name) = title(found.text);
        self.is_open = true;
        self.items.push(Item {
            indent: found.indent,
            content: found.content,
            line: number,
            title,
            name,
            done: found.done,
            details: String::new(),
            acceptance: Vec::new(),
            needs: Vec::new(),
            touch: Vec::new(),
            options: TaskOptions::default(),
        });
        Ok(())
    }

    /// Adds a line to the item that it belongs to.
    fn add(&mut self, trimmed: &str, indent: usize, is_code: bool) -> Result<(), TaskError> {
        let is_open = self.is_open;
        let item =
            self.items.last_mut().filter(|item| is_open && (trimmed.is_empty() || indent > item.indent));
        match item {
            Some(item) => item.add(trimmed, is_code).map_err(TaskError::Box),
            // Text that is not indented ends the item.
            None => {
                self.is_open &= trimmed.is_empty();
                Ok(())
            }
        }
    }
}

fn items(text: &str) -> Result<Vec<Item>, TaskError> {
    let at = |number: usize, source: TaskError| TaskError::At { line: number + 1, source: Box::new(source) };
    let mut reader = Reader { is_open: true, is_apart: true, ..Reader::default() };
    for (number, line) in text.lines().enumerate() {
        reader.read(number, line).map_err(|error| at(number, error))?;
    }
    match reader.fence.filter(|_| reader.has_hidden) {
        Some((.., number)) => {
            let text =
                "a block of code begins here and does not end, so the boxes below are not tasks".to_owned();
            Err(at(number, TaskError::Box(text)))
        }
        None => Ok(reader.items),
    }
}

impl Item {
    fn add(&mut self, line: &str, is_code: bool) -> Result<(), String> {
        let bullet = line.strip_prefix(['-', '*', '+']).map(str::trim_start);
        let text = bullet.unwrap_or(line);
        let Some((key, value)) = text.split_once(':').filter(|_| !is_code) else {
            self.push_details(line);
            return Ok(());
        };
        let list = |value: &str| -> Vec<String> {
            let parts = value.split(',').map(|part| part.trim().to_owned());
            parts.filter(|part| !part.is_empty()).collect()
        };
        match key.to_ascii_lowercase().as_str() {
            "needs" | "after" => self.needs.extend(list(value)),
            "touch" => {
                self.touch.extend(list(value).iter().map(|pattern| pattern.trim_matches('`').to_owned()));
            }
            "accept" | "acceptance" if value.trim().is_empty() => {}
            "accept" | "acceptance" => self.acceptance.push(value.trim().to_owned()),
            _ => match bullet.and_then(|_| self.options.take(key, value)) {
                Some(taken) => return taken,
                None => self.push_details(line),
            },
        }
        Ok(())
    }

    fn push_details(&mut self, line: &str) {
        self.details.push_str(line);
        self.details.push('\n');
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

/// The line of a task, from one. If several have the name, that of the last one.
pub(super) fn line_of(text: &str, id: &TaskId) -> Option<usize> {
    let items = items(text).ok()?;
    let (place, _) = leaves(&items).into_iter().rfind(|(_, found)| found == id)?;
    items.get(place).map(|item| item.line + 1)
}

pub(super) fn parse(text: &str) -> Result<Vec<Task>, TaskError> {
    let items = items(text)?;
    let mut tasks = Vec::new();
    for (place, id) in leaves(&items) {
        let Some(item) = items.get(place) else { continue };
        let groups: Vec<&Item> =
            ancestors(&items, place).into_iter().filter_map(|at| items.get(at)).collect();
        let with = |part: fn(&Item) -> &Vec<String>| -> Vec<String> {
            groups.iter().flat_map(|group| part(group)).chain(part(item)).cloned().collect()
        };
        let mut options = item.options.clone();
        groups.iter().rev().for_each(|group| options.with_defaults(&group.options));
        let details = groups.iter().map(|group| group.details.as_str()).chain([item.details.as_str()]);
        tasks.push(Task {
            id,
            title: item.title.clone(),
            context: groups.iter().map(|group| group.title.clone()).collect(),
            details: details.collect::<String>().trim().to_owned(),
            acceptance: with(|item| &item.acceptance),
            touch: with(|item| &item.touch),
            needs: with(|item| &item.needs).into_iter().map(TaskId::new).collect(),
            options,
            done: item.done || groups.iter().any(|group| group.done),
        });
    }
    Ok(tasks)
}

/// Checks the box of a task, and of the groups that this completes. `None` if there is no such task.
pub(super) fn mark_done(text: &str, id: &TaskId) -> Option<String> {
    let mut items = items(text).ok()?;
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
        let found = checkbox(line.trim_end_matches(['\n', '\r'])).ok().flatten();
        match found.filter(|_| lines.contains(&number)) {
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
        parse(text).unwrap().into_iter().map(|task| (task.id.to_string(), task.done)).collect()
    }

    #[test]
    fn leaves_are_tasks_and_groups_are_context() {
        let tasks = parse(LIST).unwrap();
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
        let text = "- [ ] one\r\n- [-] no box\r\n- [x](two)\r\n-  [ ] three";
        assert_eq!(names(text), [("one".into(), false), ("three".into(), false)]);
        let done = mark_done(text, &TaskId::new("three")).unwrap();
        assert_eq!(done, "- [ ] one\r\n- [-] no box\r\n- [x](two)\r\n-  [x] three");
    }

    #[test]
    fn ordered_lists_are_lists() {
        let text = "1. [ ] one\n   - accept: it works\n2) [x] two\n10. [ ] group\n    1. [ ] ten\n";
        assert_eq!(names(text), [("one".into(), false), ("two".into(), true), ("ten".into(), false)]);
        let done = mark_done(text, &TaskId::new("ten")).unwrap();
        assert!(done.ends_with("10. [x] group\n    1. [x] ten\n"), "{done}");
    }

    #[test]
    fn what_markdown_shows_as_code_or_not_at_all_is_no_task() {
        let text = "- [ ] one\n\n      - [ ] indented code\n\n  ````md\n  ```\n  - [ ] fenced\n  ```\n  ````\n\
                    <!-- - [ ] hidden\n- [ ] hidden too\n-->\n<!-- one line --> \n- [ ] two\n\n~~~\n- [ ] code\n~~~\n";
        assert_eq!(names(text), [("one".into(), false), ("two".into(), false)]);
        assert_eq!(names("\n    - [ ] code\n\n- [ ] task\n"), [("task".into(), false)]);
        assert!(parse(text).unwrap()[0].details.contains("indented code"));
    }

    #[test]
    fn boxes_that_cannot_be_meant_are_refused_with_their_line() {
        for (text, line, part) in [
            ("- [ ] a\n- [ ]\n", 2, "without text"),
            ("- [ ] a\n- [ ] {#b}\n", 2, "without text"),
            ("- [] a\n", 1, "`[ ]`"),
            ("- [ ] a\n\n- [x]b\n", 3, "space after"),
            ("-[ ] a\n", 1, "space before"),
            ("- [ ] a\n         - [ ] b\n", 2, "indented too far"),
            ("- [ ] a\n```\n- [ ] b\n", 2, "does not end"),
            ("- [ ] a\n  - effort: enormous\n", 2, "effort"),
            ("- [ ] a\n  - cost_usd: 0\n", 2, "above zero"),
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(
                error.starts_with(&format!("line {line}: ")) && error.contains(part),
                "{text:?}: {error}"
            );
        }
    }

    #[test]
    fn a_task_has_options_of_its_own_and_those_of_its_groups() {
        let text = "- [ ] group\n  - model: opus\n  - attempts: 5\n  - [ ] a\n    - model: haiku\n    - tokens: see below\n  - [ ] b\n";
        let tasks = parse(text).unwrap();
        assert_eq!(tasks[0].options.model.as_deref(), Some("haiku"));
        assert_eq!(tasks[1].options.model.as_deref(), Some("opus"));
        assert_eq!(tasks[0].options.limits.get("attempts").map(String::as_str), Some("5"));
        assert!(tasks[0].details.contains("tokens: see below"));
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
            let Ok(tasks) = parse(&text) else { return Ok(()) };
            // A duplicate name is refused before anything is marked.
            let is_unique = |id: &TaskId| tasks.iter().filter(|other| other.id == *id).count() == 1;
            for task in tasks.iter().filter(|task| !task.done && is_unique(&task.id)) {
                let done = mark_done(&text, &task.id).unwrap();
                proptest::prop_assert_eq!(done.len(), text.len());
                let changed = text.chars().zip(done.chars()).filter(|(a, b)| a != b);
                proptest::prop_assert!(changed.clone().all(|(a, b)| (a, b) == (' ', 'x')));
                proptest::prop_assert!(changed.count() >= 1);
                let again = parse(&done).unwrap().into_iter().find(|other| other.id == task.id);
                proptest::prop_assert!(again.is_some_and(|other| other.done));
            }
        }
    }
}
