//! Blocks of a text: paragraphs, list items, headings, cells. What is between them stands in the translation as it is.

mod html;
mod lines;

use std::ops::Range;

use crate::marks::{self, Glossary, TextFormat};

/// A run of text that belongs together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Block {
    /// Its bytes, without white space around it.
    pub(super) range: Range<usize>,
    /// Line ends inside it, each with the white space and quotation marks around it.
    pub(super) breaks: Vec<Range<usize>>,
}

/// Blocks in order, apart from one another.
pub(super) fn find(text: &str, format: TextFormat) -> Vec<Block> {
    let marks = marks::find(text, format, &Glossary::default());
    match format {
        TextFormat::Html => html::blocks(text, &marks),
        TextFormat::Text | TextFormat::Markdown => lines::blocks(text, format, &marks),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str, format: TextFormat) -> Vec<String> {
        find(text, format).into_iter().map(|block| text[block.range].to_owned()).collect()
    }

    #[test]
    fn lines_of_text_are_blocks_without_indentation_and_markers() {
        let text = "Title\n\n  - first item\n  2) second\r\n> quoted\n   \nend  ";
        assert_eq!(shown(text, TextFormat::Text), ["Title", "first item", "second", "quoted", "end"]);
    }

    #[test]
    fn a_sentence_over_two_lines_is_one_block() {
        let text = "This line is long enough to be one that was wrapped by\nits author. Next\nOther";
        let found = find(text, TextFormat::Text);
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].breaks.len(), 1);
        assert_eq!(&text[found[0].breaks[0].clone()], "\n");
    }

    #[test]
    fn code_of_markdown_is_no_block() {
        let text =
            "---\ntitle: x\n---\n# Head #\n\n    code\n\n```rust\nlet a;\n```\ntext\nmore  \nhard\n\n[a]: http://x.y\n";
        assert_eq!(shown(text, TextFormat::Markdown), ["Head", "text\nmore", "hard"]);
    }

    #[test]
    fn cells_of_a_table_are_blocks() {
        let text = "| Name | The age |\n|---|:-:|\n| Ana `a|b` \\| c | ten |\n";
        assert_eq!(shown(text, TextFormat::Markdown), ["Name", "The age", "Ana `a|b` \\| c", "ten"]);
    }

    #[test]
    fn elements_of_html_separate_blocks_and_code_is_kept() {
        let text =
            "<html><p>One <b>two</b>\n  three<br>four</p><script>let x = '<p>no</p>';</script><pre>no\nno</pre>\n five";
        let found = find(text, TextFormat::Html);
        assert_eq!(shown(text, TextFormat::Html), ["One <b>two</b>\n  three", "four", "five"]);
        assert_eq!(&text[found[0].breaks[0].clone()], "\n  ");
    }

    #[test]
    fn a_tag_over_two_lines_stays_whole() {
        let text = "Read <a\nhref=\"x\">this</a> now";
        assert_eq!(shown(text, TextFormat::Text), [text]);
    }
}
