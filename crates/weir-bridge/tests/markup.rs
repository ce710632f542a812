//! Long texts in pieces, whatever they are.

use proptest::prelude::*;
use weir_bridge::markup::{Markup, split};

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

/// The letters of a text, in order. Splitting adds fences and takes space away, and nothing else.
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
fn code_goes_on_in_the_next_piece() {
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
fn a_piece_that_is_cut_inside_of_code_fits_all_the_same() {
    // Without the end of the code, its stars are markup, and the text is longer although there is less of it.
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
