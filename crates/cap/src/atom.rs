//! Writes alerts as an Atom feed (RFC 4287), with one entry per alert that links to its CAP document.

use std::fmt::Write;

use quick_xml::escape::escape;

/// An Atom feed. All times are RFC 3339.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Feed {
    /// Permanent, globally unique identifier of the feed, such as a URN.
    pub id: String,
    /// Title of the feed.
    pub title: String,
    /// Name of the feed's author.
    pub author: String,
    /// Time at which the most recent entry changed.
    pub updated: String,
    /// URL of the feed itself (`rel="self"`).
    pub link: String,
    /// Entries in the order in which they are written.
    pub entries: Vec<Entry>,
}

/// An entry of a [`Feed`]: one alert.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Permanent, globally unique identifier of the entry.
    pub id: String,
    /// Title of the entry.
    pub title: String,
    /// Time at which the alert last changed.
    pub updated: String,
    /// Time at which the alert was first published.
    pub published: String,
    /// Short description of the alert.
    pub summary: Option<String>,
    /// URL of the alert's CAP document (`rel="alternate"`).
    pub link: String,
    /// Categories of the alert, by CAP's names.
    pub categories: Vec<String>,
}

impl Feed {
    /// Serializes the feed as an XML document.
    pub fn to_xml(&self) -> String {
        let mut out =
            String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<feed xmlns=\"http://www.w3.org/2005/Atom\">\n");
        line(&mut out, "id", &self.id);
        line(&mut out, "title", &self.title);
        line(&mut out, "updated", &self.updated);
        let _ = writeln!(out, "  <author><name>{}</name></author>", escape(&self.author));
        let _ = writeln!(out, "  <link rel=\"self\" type=\"application/atom+xml\" href=\"{}\"/>", escape(&self.link));
        self.entries.iter().for_each(|entry| entry.write(&mut out));
        out.push_str("</feed>\n");
        out
    }
}

impl Entry {
    fn write(&self, out: &mut String) {
        out.push_str("  <entry>\n");
        line(out, "id", &self.id);
        line(out, "title", &self.title);
        line(out, "updated", &self.updated);
        line(out, "published", &self.published);
        if let Some(summary) = &self.summary {
            line(out, "summary", summary);
        }
        let _ =
            writeln!(out, "  <link rel=\"alternate\" type=\"application/cap+xml\" href=\"{}\"/>", escape(&self.link));
        for category in &self.categories {
            let _ = writeln!(out, "  <category term=\"{}\"/>", escape(category));
        }
        out.push_str("  </entry>\n");
    }
}

fn line(out: &mut String, name: &str, text: &str) {
    // Writing to a string cannot fail.
    let _ = writeln!(out, "  <{name}>{}</{name}>", escape(text));
}
