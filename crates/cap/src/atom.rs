//! Alerts as an Atom feed (RFC 4287): one entry for each, which leads to its document.

use std::fmt::Write;

use quick_xml::escape::escape;

/// A feed. Times are RFC 3339.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Feed {
    /// Permanent and unique, such as a URN.
    pub id: String,
    pub title: String,
    pub author: String,
    /// When the newest entry changed.
    pub updated: String,
    /// Where the feed itself is.
    pub link: String,
    pub entries: Vec<Entry>,
}

/// One alert of a feed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    pub id: String,
    pub title: String,
    pub updated: String,
    pub published: String,
    pub summary: Option<String>,
    /// Where the alert's document is.
    pub link: String,
    /// What it is about: CAP's categories.
    pub categories: Vec<String>,
}

impl Feed {
    /// The feed as an XML document.
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
    // Writing to a string does not fail.
    let _ = writeln!(out, "  <{name}>{}</{name}>", escape(text));
}
