//! Documents with attributes in arrays: the contract with the derive, and both conversions.

use std::{fmt, sync::Arc};

use bson::{RawDocument, RawDocumentBuf};
use serde::{Serialize, de::DeserializeOwned};

use super::{AttributeArray, AttributeError, fold, unfold};
use crate::{
    codec::{
        decode,
        encode::{DOCUMENT_LEVELS, Refusal, append_document, check_read},
        raw::{WITHOUT_ID, printed_id},
    },
    error::redacted_bson,
    model::derived::Derived,
    text::REDACTED,
};

/// A type whose attributes are stored in arrays. It is sealed: only `#[derive(Attributed)]` implements it.
///
/// ```
/// use bucket_core::attribute::Attributed;
///
/// fn describe<T: Attributed>() -> String {
///     format!("`{}` in `{}`", T::SPEC.record(), T::SPEC.collection())
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no attributes",
    label = "this type has no arrays of attributes",
    note = "add `#[derive(Attributed)]` and `#[bucket(collection = \"..\")]` to `{Self}`, and \
            `#[bucket(attribute(array = \"..\", k = \"..\"))]` to its attributes",
    note = "if `{Self}` is generic, the types of its attributes must be `AttributeValue`"
)]
pub trait Attributed: Serialize + DeserializeOwned + Send + Sync + 'static {
    /// What the derive read from the struct.
    const SPEC: &'static DocumentSpec;
    #[doc(hidden)]
    const __DERIVED: Derived;
}

/// What the derive read from a struct with attributes.
///
/// ```
/// use bucket_core::Attributed;
///
/// fn number_of_indexes<T: Attributed>() -> usize {
///     T::SPEC.arrays().iter().flat_map(|array| array.index_keys()).count()
/// }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DocumentSpec {
    record: &'static str,
    collection: &'static str,
    arrays: &'static [AttributeArray],
}

impl DocumentSpec {
    #[doc(hidden)]
    #[must_use]
    pub const fn __new(
        record: &'static str,
        collection: &'static str,
        arrays: &'static [AttributeArray],
    ) -> Self {
        Self {
            record,
            collection,
            arrays,
        }
    }

    /// The name of the struct.
    #[must_use]
    pub const fn record(&self) -> &'static str {
        self.record
    }

    /// The collection of the documents.
    #[must_use]
    pub const fn collection(&self) -> &'static str {
        self.collection
    }

    /// The arrays of attributes.
    #[must_use]
    pub const fn arrays(&self) -> &'static [AttributeArray] {
        self.arrays
    }
}

/// Converts a document to its stored form.
///
/// # Errors
///
/// [`DocumentError`] if its serde form is not a document, or if an attribute has another type than
/// its field declares.
///
/// ```
/// # use bucket_core::attribute::{Attributed, DocumentError, encode};
/// fn stored<T: Attributed>(document: &T) -> Result<bson::RawDocumentBuf, DocumentError> {
///     encode(document)
/// }
/// ```
pub fn encode<T: Attributed>(document: &T) -> Result<RawDocumentBuf, DocumentError> {
    let mut many = Vec::new();
    let written = append_document(document, DOCUMENT_LEVELS, &mut many);
    let many = written.and_then(|findings| {
        let many = RawDocumentBuf::from_bytes(many).map_err(Refusal::Serialize)?;
        Ok((many, findings))
    });
    let (many, findings) = many.map_err(|refusal| DocumentError::refused(None, refusal))?;
    let refused = |refusal| DocumentError::refused(Some(printed_id(&many)), refusal);
    if findings.is_doubtful() {
        check_read::<T>(many.as_bytes(), &findings).map_err(refused)?;
    }
    let stored = fold(T::SPEC.arrays, &many).map_err(|source| DocumentError {
        id: Some(printed_id(&many)),
        is_stored: false,
        fault: DocumentFault::Attribute(source),
    })?;
    Ok(stored)
}

/// Converts a stored form to a document.
///
/// # Errors
///
/// [`DocumentError`], with the document's `_id`, if an array has an entry that the model does not
/// keep, or if another field has another type.
///
/// ```
/// # use bucket_core::attribute::{Attributed, DocumentError, decode};
/// fn read<T: Attributed>(stored: &bson::RawDocument) -> Result<T, DocumentError> {
///     decode(stored)
/// }
/// ```
pub fn decode<T: Attributed>(stored: &RawDocument) -> Result<T, DocumentError> {
    let error = |fault| DocumentError {
        id: Some(printed_id(stored)),
        is_stored: true,
        fault,
    };
    let many = unfold(T::SPEC.arrays, stored);
    let many = many.map_err(|source| error(DocumentFault::Attribute(source)))?;
    decode::decode(many.as_bytes()).map_err(|source| error(DocumentFault::Serde(Arc::new(source))))
}

/// A document with attributes cannot be stored or read.
///
/// ```
/// use bucket_core::attribute::{DocumentError, DocumentFault};
///
/// fn array(error: &DocumentError) -> Option<&str> {
///     match error.fault() {
///         DocumentFault::Attribute(error) => Some(error.array),
///         _ => None,
///     }
/// }
/// ```
#[derive(Debug, Clone)]
pub struct DocumentError {
    pub(crate) id: Option<String>,
    pub(crate) is_stored: bool,
    pub(crate) fault: DocumentFault,
}

/// What is wrong with a document.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum DocumentFault {
    /// An attribute.
    Attribute(AttributeError),
    /// Serde's error.
    Serde(Arc<bson::error::Error>),
    /// It has a name twice, for example because a flattened map repeats a field's name.
    RepeatedName {
        /// The name in serde's form of the document.
        name: String,
    },
    /// Documents and arrays are nested so deep that the server would refuse the document.
    TooDeep {
        /// The most levels that the server accepts. The document itself is the first level.
        limit: usize,
    },
    /// Its own type could not read the stored form. An example is a map that looks like MongoDB's
    /// extended JSON but is not.
    Unreadable(Arc<bson::error::Error>),
    /// The other form would give a different record.
    NotKept,
    /// It is too large to store, or the statement that changes its form is too large to send.
    TooLarge {
        /// Its size or that of the statement, in bytes.
        bytes: usize,
        /// The largest size that can be sent, in bytes.
        limit: usize,
    },
    /// The server refused to store its other form.
    Refused {
        /// The server's error code.
        code: i32,
        /// The server's message.
        message: String,
    },
}

impl DocumentError {
    fn refused(id: Option<String>, refusal: Refusal) -> Self {
        let fault = match refusal {
            Refusal::Serialize(source) => DocumentFault::Serde(Arc::new(source)),
            Refusal::Repeated(name) => DocumentFault::RepeatedName { name },
            Refusal::TooDeep => DocumentFault::TooDeep {
                limit: DOCUMENT_LEVELS,
            },
            Refusal::Unreadable(source) => DocumentFault::Unreadable(Arc::new(source)),
        };
        Self {
            id,
            is_stored: false,
            fault,
        }
    }

    /// The same error without the document's `_id` and without anything else that the document contains.
    ///
    /// ```
    /// use bucket_core::attribute::{Attributed, encode};
    ///
    /// fn log_refusal<T: Attributed>(document: &T) {
    ///     if let Err(error) = encode(document) {
    ///         eprintln!("{}", error.redacted());
    ///     }
    /// }
    /// ```
    #[must_use]
    pub fn redacted(&self) -> Self {
        let hidden = || REDACTED.to_owned();
        // No arm for all others: a new fault has to say what it quotes.
        let fault = match &self.fault {
            DocumentFault::Attribute(source) => DocumentFault::Attribute(source.redacted()),
            DocumentFault::Serde(_) => DocumentFault::Serde(redacted_bson()),
            DocumentFault::RepeatedName { name: _ } => {
                DocumentFault::RepeatedName { name: hidden() }
            }
            DocumentFault::Unreadable(_) => DocumentFault::Unreadable(redacted_bson()),
            DocumentFault::TooDeep { .. }
            | DocumentFault::NotKept
            | DocumentFault::TooLarge { .. } => self.fault.clone(),
            DocumentFault::Refused { code, message: _ } => DocumentFault::Refused {
                code: *code,
                message: hidden(),
            },
        };
        Self {
            // That there is none is no secret.
            id: self
                .id
                .clone()
                .map(|id| if id == WITHOUT_ID { id } else { hidden() }),
            is_stored: self.is_stored,
            fault,
        }
    }

    /// The document's `_id` as text, if it has one.
    #[must_use]
    pub fn id(&self) -> Option<&str> {
        self.id.as_deref().filter(|id| *id != WITHOUT_ID)
    }

    /// Whether the document is one of the collection, and not one that was to be stored.
    ///
    /// ```
    /// use bucket_core::attribute::DocumentError;
    ///
    /// fn who_repairs_it(error: &DocumentError) -> &'static str {
    ///     if error.is_stored() { "operator" } else { "caller" }
    /// }
    /// ```
    #[must_use]
    pub fn is_stored(&self) -> bool {
        self.is_stored
    }

    /// What is wrong.
    #[must_use]
    pub fn fault(&self) -> &DocumentFault {
        &self.fault
    }
}

impl fmt::Display for DocumentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("document")?;
        if let Some(id) = &self.id {
            write!(f, " {id}")?;
        }
        match &self.fault {
            DocumentFault::Attribute(error) => write!(f, ": {error}"),
            DocumentFault::Serde(error) => write!(f, ": {error}"),
            DocumentFault::RepeatedName { name } => write!(
                f,
                ": it has the name `{}` twice; a flattened map may repeat the name of a field",
                name.escape_debug()
            ),
            DocumentFault::TooDeep { limit } => write!(
                f,
                ": it nests documents and arrays more than {limit} levels deep, which the server does not \
                 store"
            ),
            DocumentFault::Unreadable(source) => {
                write!(
                    f,
                    ": it could not be read back from its stored form: {source}"
                )
            }
            DocumentFault::NotKept => f.write_str(": its record would differ in the other form"),
            DocumentFault::TooLarge { bytes, limit } => write!(
                f,
                ": it takes {bytes} bytes to send, but the limit is {limit}"
            ),
            DocumentFault::Refused { code, message } => {
                write!(f, ": the server refused ({code}): {message}")
            }
        }
    }
}

impl std::error::Error for DocumentError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.fault {
            DocumentFault::Attribute(source) => Some(source),
            DocumentFault::Serde(source) | DocumentFault::Unreadable(source) => {
                Some(source.as_ref())
            }
            _ => None,
        }
    }
}
