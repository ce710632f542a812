//! Splitting of arbitrary long texts.

use proptest::prelude::*;
use weir_bridge::markup::{Markup, Splitter, split};

fn markdown() -> impl Strategy<Value = String> {
    let words =
        prop::collection::vec("[a-zA-Z<>&*_`\u{e4}\u{1f600}]{1,12}", 1..60).prop_map(|words| words.join(" "));
    let code = prop::collection::vec("[a-z <>&{}();=]{0,80}", 1..60)
        .prop_map(|lines| format!("```rust\n{}\n```", lines.join("\n")));
    let list = prop::collection::vec("[a-z ]{1,40}", 1..30)
        .prop_map(|items| items.iter().map(|item| format!("- {item}")).collect::<Vec<_>>().join("\n"));
    let table = prop::collection::vec("[a-z]{1,20}", 1..20).prop_map(|cells| {
        format!(
            "| a | b |\n|---|---|\n{}",
            cells.iter().map(|cell| format!("| {cell} | x |\n")).collect::<String>()
        )
    });
    let block = prop_oneof![words, code, list, table, "[a-z]{1,600}", "#{1,3} [a-z]{1,30}"];
    prop::collection::vec(block, 0..12).prop_map(|blocks| blocks.join("\n\n"))
}

/// The letters of a text, in order. Splitting only adds fences and removes space.
fn letters(text: &str) -> String {
    text.replace("```rust", "").chars().filter(|character| character.is_alphanumeric()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn every_piece_fits_and_nothing_is_lost(text in markdown(), longest in 80_usize..600) {
        for markup in [Markup::Plain, Markup::TelegramHtml, Markup::MatrixHtml] {
            let pieces = split(&text, markup, longest);
            for piece in &pieces {
                prop_assert!(markup.length(piece) <= longest, "{} > {longest}: {piece}", markup.length(piece));
                let fences = piece.lines().filter(|line| line.starts_with("```")).count();
                prop_assert!(fences % 2 == 0, "a fence is open in {piece}");
            }
            prop_assert_eq!(letters(&pieces.concat()), letters(&text));
        }
    }

    #[test]
    fn telegram_gets_balanced_tags(text in markdown()) {
        let html = Markup::TelegramHtml.render(&text).html.unwrap_or_default();
        let mut open: Vec<String> = Vec::new();
        for tag in html.split('<').skip(1).map(|rest| rest.split('>').next().unwrap_or_default()) {
            match tag.strip_prefix('/') {
                Some(name) => prop_assert_eq!(open.pop(), Some(name.to_owned()), "in {}", html),
                None => open.push(tag.split(' ').next().unwrap_or_default().to_owned()),
            }
        }
        prop_assert!(open.is_empty(), "{:?} open in {}", open, html);
    }
}

#[test]
fn code_continues_in_the_next_piece() {
    let code: String = (0..40).map(|number| format!("let line{number} = {number};\n")).collect();
    let pieces = split(&format!("Look:\n\n```rust\n{code}```\n\nDone."), Markup::Plain, 300);
    assert!(pieces.len() > 2);
    assert_eq!(pieces[0], "Look:");
    for piece in &pieces[1..pieces.len() - 1] {
        assert!(piece.starts_with("```rust\n") && piece.ends_with("\n```"), "{piece}");
    }
    assert!(pieces.last().is_some_and(|last| last.ends_with("Done.")));
}

#[test]
fn a_piece_cut_inside_code_still_fits() {
    // Without the end of the code span, its stars become markup, and the shorter text renders longer.
    let text = format!("`{}`{}", "*a* ".repeat(40), "b".repeat(600));
    for longest in 400..700 {
        for piece in split(&text, Markup::MatrixHtml, longest) {
            assert!(Markup::MatrixHtml.length(&piece) <= longest, "{longest}: {piece}");
        }
    }
}

#[test]
fn a_growing_text_changes_its_last_pieces_only() {
    let text: String =
        (0..200).map(|number| format!("Sentence number {number} of a long answer.\n\n")).collect();
    let whole = split(&text, Markup::TelegramHtml, 500);
    for end in [500, 1_500, 4_000] {
        let part = split(&text[..end], Markup::TelegramHtml, 500);
        assert_eq!(part[..part.len() - 1], whole[..part.len() - 1]);
    }
}

/// Texts of about this size that are hard to split.
fn hard_texts(size: usize) -> Vec<(&'static str, String)> {
    let repeat = |part: &str| part.repeat(size / part.len() + 1);
    let numbered = |line: fn(usize) -> String| {
        let mut text = String::new();
        let mut number = 0;
        while text.len() < size {
            text.push_str(&line(number));
            number += 1;
        }
        text
    };
    vec![
        ("paragraphs", numbered(|number| format!("Sentence number {number} of a long answer.\n\n"))),
        ("one line", repeat("word ")),
        ("one word", repeat("x")),
        ("short lines", repeat("a\n")),
        ("short blocks", repeat("a\n\n")),
        ("code", format!("```rust\n{}```\n", numbered(|number| format!("let x{number} = <{number}>;\n")))),
        ("code in one line", format!("```\n{}\n```", repeat("0123456789"))),
        ("a list", numbered(|number| format!("- item {number}\n"))),
        ("a table", format!("| a | b |\n|---|---|\n{}", repeat("| cell | cell |\n"))),
        ("links", repeat("[a](https://example.org/a/long/address/that/is/not/shown) ")),
        ("stars", repeat("*")),
        ("brackets", repeat("[")),
        ("backticks", repeat("`a *b* ")),
        ("fences", repeat("```\n")),
        ("angles", repeat("<&>\"")),
        ("line feeds", format!("a{}b", repeat("\n"))),
        ("smileys", repeat("\u{1f600}")),
    ]
}

#[test]
fn the_work_grows_linearly_with_the_text() {
    for (markup, longest) in [
        (Markup::Plain, 16_000),
        (Markup::Plain, 1_000),
        (Markup::TelegramHtml, 4_096),
        (Markup::MatrixHtml, 20_000),
    ] {
        for (name, text) in hard_texts(60_000) {
            let mut splitter = Splitter::new(markup, longest);
            splitter.advance(&text, usize::MAX);
            let times = splitter.bytes_processed() / text.len() as u64;
            assert!(times <= 16, "{name} for {markup:?} of {longest}: each byte was processed {times} times");
        }
    }
}

#[test]
fn a_growing_text_is_split_like_a_complete_one() {
    for (name, text) in hard_texts(6_000) {
        for (markup, longest) in
            [(Markup::Plain, 500), (Markup::TelegramHtml, 400), (Markup::MatrixHtml, 900)]
        {
            let mut splitter = Splitter::new(markup, longest);
            let mut last = None;
            let mut end = 0;
            while end < text.len() {
                end = (end + 37).min(text.len());
                while !text.is_char_boundary(end) {
                    end += 1;
                }
                last = splitter.advance(&text[..end], usize::MAX);
            }
            let grown: Vec<String> = splitter.closed().iter().cloned().chain(last).collect();
            for piece in &grown {
                assert!(markup.length(piece) <= longest, "{name} for {markup:?}: {piece}");
            }
            assert_eq!(letters(&grown.concat()), letters(&text), "{name} for {markup:?}");
        }
    }
}

#[test]
fn no_more_pieces_are_split_than_requested() {
    let text = "A sentence of the answer. ".repeat(40_000);
    let mut splitter = Splitter::new(Markup::TelegramHtml, 4_096);
    assert_eq!(splitter.advance(&text, 4), None);
    assert_eq!(splitter.closed().len(), 4);
    assert!(splitter.has_more(&text));
    assert!(splitter.bytes_processed() < 4 * 4_096 * 12, "{} bytes", splitter.bytes_processed());
}
