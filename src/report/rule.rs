use std::fmt;

/// A rule that files are checked against, and how serious it is to break it.
///
/// [`Format::rules`](crate::Format::rules) lists the rules of a format. The page "Rules" of the documentation has them as a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Rule {
    /// The identifier, such as `index_out_of_range`. It never changes, and is unique within its format.
    pub id: &'static str,
    /// The name that messages give it: the specification's word for what is checked.
    pub name: &'static str,
    /// The severity of breaking the rule.
    pub severity: Severity,
    /// A sentence or two: what is wrong in the file, and how it is read anyway.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub cause: &'static str,
    /// The programs that write such files; `None` if none is known.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub writers: Option<&'static str>,
}

/// Declares the rules of a format: a constant for each, and `ALL`, the list of all.
///
/// The documentation of a constant is the rule's [`cause`](Rule::cause).
macro_rules! rules {
    ($($(#[doc = $cause:literal])+ $name:ident = $severity:ident($id:literal, $label:literal) $(written by $writers:literal)?;)+) => {
        $(
            $(#[doc = $cause])+
            pub(crate) const $name: $crate::report::Rule = {
                let rule = $crate::report::Rule::$severity($id, $label).caused_by(concat!($($cause),+).trim_ascii());
                $(let rule = rule.written_by($writers);)?
                rule
            };
        )+

        /// All rules, in this order.
        pub(crate) const ALL: &[$crate::report::Rule] = &[$($name),+];
    };
}

pub(crate) use rules;

/// The severity of a [`Finding`](crate::Finding), least serious first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "lowercase")
)]
#[non_exhaustive]
pub enum Severity {
    /// Legal and harmless, but worth knowing.
    Note,
    /// Legal, or what ordinary writers do though the text says otherwise: usually a sign of a mistake, or a problem for
    /// programs that do not expect it.
    Suspicious,
    /// The specification forbids it. It is read all the same, except with
    /// [`Strictness::Strict`](crate::Strictness::Strict).
    Forbidden,
    /// The data cannot be used, such as an index out of range. Forbidden as well.
    Unusable,
}

impl Severity {
    /// The name in lower case, as in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Suspicious => "suspicious",
            Self::Forbidden => "forbidden",
            Self::Unusable => "unusable",
        }
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Rule {
    const fn new(id: &'static str, name: &'static str, severity: Severity) -> Self {
        Self {
            id,
            name,
            severity,
            cause: "",
            writers: None,
        }
    }

    pub(crate) const fn note(id: &'static str, name: &'static str) -> Self {
        Self::new(id, name, Severity::Note)
    }

    pub(crate) const fn suspicious(id: &'static str, name: &'static str) -> Self {
        Self::new(id, name, Severity::Suspicious)
    }

    pub(crate) const fn forbidden(id: &'static str, name: &'static str) -> Self {
        Self::new(id, name, Severity::Forbidden)
    }

    pub(crate) const fn unusable(id: &'static str, name: &'static str) -> Self {
        Self::new(id, name, Severity::Unusable)
    }

    pub(crate) const fn caused_by(mut self, cause: &'static str) -> Self {
        self.cause = cause;
        self
    }

    pub(crate) const fn written_by(mut self, writers: &'static str) -> Self {
        self.writers = Some(writers);
        self
    }
}
