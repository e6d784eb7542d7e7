//! The server's error codes and texts that decisions depend on, here and in the executor.
//!
//! Codes: the server's `error_codes.yml`. Which of them are retried: the driver specification "Retryable
//! Writes".

/// A bad value.
pub const BAD_VALUE: i32 = 2;
/// The operation is not permitted.
pub const UNAUTHORIZED: i32 = 13;
/// A value does not have the type that the operation takes.
pub const TYPE_MISMATCH: i32 = 14;
/// The credentials are wrong.
pub const AUTHENTICATION_FAILED: i32 = 18;
/// The server takes no numbered commands.
pub const ILLEGAL_OPERATION: i32 = 20;
/// The collection does not exist.
pub const NAMESPACE_NOT_FOUND: i32 = 26;
/// The index does not exist.
pub const INDEX_NOT_FOUND: i32 = 27;
/// The collection already exists.
pub const NAMESPACE_EXISTS: i32 = 48;
/// The time limit of a command, or of the wait for its write concern, has passed.
pub const TIME_LIMIT: i32 = 50;
/// An append to a bucket that must exist would have opened it.
pub const SET_TWICE: i32 = 54;
/// The write concern was not met in time.
pub const WRITE_CONCERN_FAILED: i32 = 64;
/// An opening matched a bucket that sorts after it.
pub const IMMUTABLE_FIELD: i32 = 66;
/// No members can ever meet the write concern: it has a name that no tag has, or asks for too many of them.
pub const UNMEETABLE_CONCERN: [i32; 2] = [79, 100];
/// An index of the same name or the same keys, with other options, conflicts.
pub const INDEX_CONFLICTS: [i32; 2] = [85, 86];
/// An option is not one that the collection takes.
pub const INVALID_OPTIONS: i32 = 72;
/// `WriteConflict`: another writer has changed a document since the transaction began.
pub const WRITE_CONFLICT: i32 = 112;
/// The command is for collections, the name belongs to a view.
pub const NOT_FOR_VIEWS: i32 = 166;
/// An option of the command is for collections, the name belongs to a view.
pub const OPTION_NOT_FOR_VIEWS: i32 = 167;
/// A pipeline or a projection has an operator that the server does not know, or does not know there.
pub const INVALID_OPERATOR: i32 = 168;
/// A read was stopped because its collection or index was dropped.
pub const QUERY_PLAN_KILLED: i32 = 175;
/// What a pipeline joins with an array is none.
pub const NO_ARRAYS: i32 = 28_664;
/// The number of a command is an old one.
pub const TRANSACTION_TOO_OLD: i32 = 225;
/// A text cannot be converted or added to.
pub const CONVERSION_FAILURE: i32 = 241;
/// The server has ended the transaction.
pub const NO_SUCH_TRANSACTION: i32 = 251;
/// Somebody has ended the command, or its session.
pub const INTERRUPTED: i32 = 11_601;
/// The operation is not one of a transaction.
pub const NOT_IN_A_TRANSACTION: i32 = 263;
/// An index was not built, because it or its collection was dropped.
pub const INDEX_BUILD_ABORTED: i32 = 276;
/// The collection has another UUID than the one that was asked for.
pub const OTHER_COLLECTION: i32 = 361;
/// A document is too large.
pub const TOO_LARGE: i32 = 10_334;
/// The target of an addition is not a number.
pub const ADDS_NO_NUMBER: i32 = 16_554;
/// An update would make a document too large.
pub const RESULT_TOO_LARGE: i32 = 17_419;
/// An index of the collection is being built.
pub const INDEX_BUILD_IN_PROGRESS: i32 = 12_587;
/// A unique index refused the statement.
pub const DUPLICATE_KEY: i32 = 11_000;

/// The server's message about a hint that names no index.
const NO_SUCH_HINT: &str = "hint provided does not correspond to an existing index";

/// What the server says of a read that it cannot make a view's pipeline of.
const NOT_IN_A_VIEW: [&str; 2] = [
    "Unsupported in view pipeline",
    "not supported in aggregation",
];

/// What the server calls a time series collection, in all its spellings.
const TIME_SERIES: &str = "ime-series";

/// A field of a command that the server does not know, or that the stable API does not have.
const UNKNOWN_FIELD: [i32; 2] = [40_415, 323];

/// The server rolled back a write to make room in its cache, and the write held most of what was not yet on
/// disk (`TransactionTooLargeForCache`).
///
/// The server compares the write with what is dirty at that moment, not with the size of the cache. So one
/// document of some megabytes can get this code while others fill the cache, and is taken a moment later: a
/// statement of ours changes one document of at most 16 MB. The server does not repeat such a write by itself,
/// as it does after 365 and 112, and gives the error no label. A large transaction of the user's that got it
/// is likely to get it again.
pub const TOO_LARGE_FOR_CACHE: i32 = 388;

/// Shutting down, write conflict, stepped down, temporarily unavailable, too large for the cache just now, not
/// primary, interrupted: nothing is wrong with the statement.
const TRANSIENT: [i32; 11] = [
    91,
    112,
    189,
    365,
    TOO_LARGE_FOR_CACHE,
    10_058,
    10_107,
    11_600,
    11_602,
    13_435,
    13_436,
];

/// Network errors between servers, a time limit between them, a failed server selection.
const UNREACHABLE: [i32; 6] = [6, 7, 89, 133, 262, 9_001];

/// A read lost its cursor (the server was restarted, or the cursor timed out).
const CURSOR_NOT_FOUND: i32 = 43;

/// Reads of what a majority has: nothing is known to be committed yet, or not since the collection was
/// changed.
const NOT_COMMITTED_YET: [i32; 2] = [134, 246];

/// Codes of commands that are refused before anything is executed: a bad value, failure to parse,
/// not authorised, nested too deep, authentication failed, no BSON, no such namespace, a bad option,
/// no such command, an invalid option, an invalid namespace, a view, no operation of a transaction, the
/// versions of the API, a document that cannot be, and fields of the command that come twice, are not known or
/// are missing.
///
/// [`TOO_LARGE`] is none of them. No command of ours is too large, and a statement that makes a document too
/// large is refused by itself. What is left is a reply that is too large, after all statements were
/// executed: a validator's refusals may quote whole buckets.
const NOT_STARTED: [i32; 19] = [
    2, 9, 13, 15, 18, 22, 26, 40, 59, 72, 73, 166, 263, 322, 323, 378, 40_413, 40_414, 40_415,
];

/// Those of them that blame one record: nested too deep, invalid BSON, an invalid document.
const BLAMES_A_RECORD: [i32; 3] = [15, 22, 378];

/// Whether a server's error code only means that it cannot take a write just now.
///
/// ```
/// assert!(bucket_core::write::is_transient(10_107));
/// // The cache has no room for the write at this moment.
/// assert!(bucket_core::write::is_transient(388));
/// assert!(!bucket_core::write::is_transient(11_000));
/// ```
#[must_use]
pub fn is_transient(code: i32) -> bool {
    TRANSIENT.contains(&code)
}

/// Whether a read that ended with this code can succeed if it is made again: a restart or a failover took its
/// cursor or its connection, or changed what it was reading.
///
/// ```
/// use bucket_core::write::may_be_read_again;
///
/// let cursor_not_found = 43;
/// assert!(may_be_read_again(cursor_not_found) && !may_be_read_again(2));
/// ```
#[must_use]
pub fn may_be_read_again(code: i32) -> bool {
    is_transient(code)
        || UNREACHABLE.contains(&code)
        || NOT_COMMITTED_YET.contains(&code)
        || matches!(code, CURSOR_NOT_FOUND | QUERY_PLAN_KILLED)
}

/// Whether the server refused a whole command because of a record in it.
///
/// ```
/// assert!(bucket_core::write::blames_a_record(15));
/// assert!(!bucket_core::write::blames_a_record(13));
/// ```
#[must_use]
pub fn blames_a_record(code: i32) -> bool {
    BLAMES_A_RECORD.contains(&code)
}

/// Whether the server's error says that the index named by a statement or a read does not exist.
///
/// ```
/// assert!(!bucket_core::write::names_no_index("not authorized"));
/// ```
#[must_use]
pub fn names_no_index(message: &str) -> bool {
    message.contains(NO_SUCH_HINT)
}

/// What the name belongs to, as `listCollections` calls it, where an error of the server says that it is no plain
/// collection.
///
/// ```
/// use bucket_core::write::other_kind;
///
/// let view = "Namespace shop.trades is a view, not a collection";
/// assert_eq!(other_kind(166, view), Some("view"));
/// assert_eq!(other_kind(13, "not authorized"), None);
/// ```
#[must_use]
pub fn other_kind(code: i32, message: &str) -> Option<&'static str> {
    match code {
        NOT_FOR_VIEWS | OPTION_NOT_FOR_VIEWS => Some("view"),
        INVALID_OPERATOR if NOT_IN_A_VIEW.iter().any(|text| message.contains(text)) => Some("view"),
        INVALID_OPTIONS | NOT_IN_A_TRANSACTION if message.contains(TIME_SERIES) => {
            Some("timeseries")
        }
        _ => None,
    }
}

/// Whether the server broke off a command because its time was over.
///
/// ```
/// assert!(bucket_core::write::is_out_of_time(50));
/// ```
#[must_use]
pub fn is_out_of_time(code: i32) -> bool {
    code == TIME_LIMIT
}

/// Whether the server could not reach another server.
pub(super) fn is_unreachable(code: i32) -> bool {
    UNREACHABLE.contains(&code)
}

/// Whether nothing is known to be majority-committed yet.
pub(super) fn is_not_committed_yet(code: i32) -> bool {
    NOT_COMMITTED_YET.contains(&code)
}

/// Whether the server refused a command before it executed anything.
pub(super) fn is_not_started(code: i32) -> bool {
    NOT_STARTED.contains(&code)
}

/// Whether the server does not know a field of the command.
pub(super) fn is_unknown_field(code: i32) -> bool {
    UNKNOWN_FIELD.contains(&code)
}
