//! A checked template, and the names that it can use.

/// A checked template.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct IdTemplate {
    pub(crate) segments: Vec<Segment>,
    /// The template as text, for docs.
    pub(crate) text: String,
}

/// One piece of a checked template.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Segment {
    Literal(String),
    /// The key of this index.
    Key(usize),
    /// The time, in this unit.
    Time(Unit),
    /// The number of the bucket.
    Number,
}

/// The unit of the time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    Seconds,
    Millis,
}

/// The names that a template can use.
pub(crate) struct Names<'a> {
    pub(crate) keys: Vec<String>,
    pub(crate) time: String,
    /// The number that replaces the time.
    pub(crate) number: Option<String>,
    /// The unit that the time has by default.
    pub(crate) unit: &'a str,
    pub(crate) others: Vec<&'a str>,
}

impl Names<'_> {
    /// The last placeholder by default.
    pub(super) fn last(&self) -> String {
        match &self.number {
            Some(number) => format!("{{{number}}}"),
            None => format!("{{{}:{}}}", self.time, self.unit),
        }
    }

    /// What that is.
    pub(super) fn what(&self) -> &'static str {
        match self.number {
            Some(_) => "number",
            None => "time",
        }
    }
}
