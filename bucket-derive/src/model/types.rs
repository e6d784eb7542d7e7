//! Types whose literal name shows that they cannot be a key, a time or a number.
//!
//! rustc finds every wrong type by its trait. For common types the derive also names the field and the
//! type to write instead. Aliases and other types are left to rustc.

use syn::{GenericArgument, PathArguments, PathSegment, Type};

/// Why a type cannot have its role, and the type to write instead.
pub(crate) struct WrongType {
    pub(crate) reason: &'static str,
    pub(crate) instead: String,
}

/// What is wrong with a key field's type, if its name shows it.
pub(crate) fn wrong_key(ty: &Type) -> Option<WrongType> {
    let segment = match ungroup(ty) {
        Type::Path(path) => standard_name(&path.path, path.qself.is_some())?,
        Type::Reference(_) => return wrong("a record owns its data", "String"),
        Type::Tuple(_) => return wrong("a key field is one value", "i64"),
        Type::Array(_) | Type::Slice(_) => return wrong(COLLECTION, "String"),
        _ => return None,
    };
    match segment.ident.to_string().as_str() {
        "f32" | "f64" => wrong("floats have no exact equality", "i64"),
        "u64" | "usize" => wrong("BSON has no 64-bit unsigned integer", "i64"),
        "isize" => wrong("its size depends on the platform", "i64"),
        "i128" | "u128" => wrong("BSON has no 128-bit integer", "i64"),
        "char" => wrong("BSON has no character", "String"),
        "Option" => wrong("every record has its key", argument(segment, "i64")),
        "Vec" | "VecDeque" | "HashMap" | "BTreeMap" | "HashSet" | "BTreeSet" | "IndexMap"
        | "LinkedList" | "BinaryHeap" => wrong(COLLECTION, "String"),
        _ => None,
    }
}

/// What is wrong with the time field's type, if its name shows it.
pub(crate) fn wrong_time(ty: &Type) -> Option<WrongType> {
    const DATE: &str = "DateTime";
    let (segment, in_std) = match ungroup(ty) {
        Type::Path(path) => (
            standard_name(&path.path, path.qself.is_some())?,
            path.path.segments.len() > 1,
        ),
        Type::Reference(_) => return wrong("a record owns its data", DATE),
        Type::Tuple(_) | Type::Array(_) | Type::Slice(_) => {
            return wrong("a time is one value", DATE);
        }
        _ => return None,
    };
    match segment.ident.to_string().as_str() {
        "Option" => wrong("every record has its time", argument(segment, DATE)),
        "String" => wrong("a time is stored as a BSON date, not as text", DATE),
        "i8" | "i16" | "i32" | "i64" | "i128" | "isize" | "u8" | "u16" | "u32" | "u64" | "u128"
        | "usize" | "f32" | "f64" => wrong(
            "a number does not say its unit; times are stored as BSON dates",
            DATE,
        ),
        // A bare name can be the user's type or alias.
        "Duration" if in_std => wrong("a duration is not a point in time", DATE),
        "Instant" if in_std => wrong("an instant has no calendar time", DATE),
        "SystemTime" if in_std => wrong("its range depends on the platform", DATE),
        "Vec" => wrong("a time is one value", argument(segment, DATE)),
        _ => None,
    }
}

/// What is wrong with the type of a version, if its name shows it.
pub(crate) fn wrong_version(ty: &Type) -> Option<WrongType> {
    const NUMBER: &str = "i64";
    let segment = match ungroup(ty) {
        Type::Path(path) => standard_name(&path.path, path.qself.is_some())?,
        Type::Reference(_) => return wrong("a record owns its data", NUMBER),
        Type::Tuple(_) | Type::Array(_) | Type::Slice(_) => {
            return wrong("a version is one number or date", NUMBER);
        }
        _ => return None,
    };
    match segment.ident.to_string().as_str() {
        "f32" | "f64" => wrong(
            "NaN is neither earlier nor later than another float",
            NUMBER,
        ),
        "u64" | "usize" => wrong("BSON has no 64-bit unsigned integer", NUMBER),
        "isize" => wrong("its size depends on the platform", NUMBER),
        "i128" | "u128" => wrong("BSON has no 128-bit integer", NUMBER),
        "String" => wrong("as text \"10\" comes before \"9\"", NUMBER),
        "bool" | "char" | "Uuid" | "Vec" => wrong("a version is one number or date", NUMBER),
        "Option" => wrong("every record has its version", argument(segment, NUMBER)),
        _ => None,
    }
}

/// What is wrong with the type of an aggregated field, if its name shows it.
pub(crate) fn wrong_measure(ty: &Type) -> Option<WrongType> {
    const NUMBER: &str = "f64";
    let segment = match ungroup(ty) {
        Type::Path(path) => standard_name(&path.path, path.qself.is_some())?,
        Type::Reference(_) | Type::Tuple(_) | Type::Array(_) | Type::Slice(_) => {
            return wrong("it is not a number", NUMBER);
        }
        _ => return None,
    };
    match segment.ident.to_string().as_str() {
        "u64" | "usize" => wrong("BSON has no 64-bit unsigned integer", "i64"),
        "isize" => wrong("its size depends on the platform", "i64"),
        "i128" | "u128" => wrong("BSON has no 128-bit integer", "i64"),
        "String" | "bool" | "char" | "DateTime" | "Vec" | "VecDeque" | "HashMap" | "BTreeMap"
        | "HashSet" | "BTreeSet" | "Box" | "ObjectId" | "Uuid" => {
            wrong("it is not a number", NUMBER)
        }
        "Option" => {
            let inner = inner(segment).and_then(wrong_measure)?;
            wrong(inner.reason, format!("Option<{}>", inner.instead))
        }
        _ => None,
    }
}

// Every arm of the tables above is a finding.
#[allow(clippy::unnecessary_wraps)]
fn wrong(reason: &'static str, instead: impl Into<String>) -> Option<WrongType> {
    Some(WrongType {
        reason,
        instead: instead.into(),
    })
}

const COLLECTION: &str = "a key field is one value, not a collection";

/// The last segment of a path that is bare or begins in the standard library.
fn standard_name(path: &syn::Path, qualified: bool) -> Option<&PathSegment> {
    let first = path.segments.first()?;
    let standard = ["std", "core", "alloc"]
        .iter()
        .any(|name| first.ident == name);
    (!qualified && (path.segments.len() == 1 || standard)).then(|| path.segments.last())?
}

/// The type argument as text.
fn argument(segment: &PathSegment, otherwise: &str) -> String {
    inner(segment).map_or_else(|| otherwise.to_owned(), super::field::printed_type)
}

/// The type argument.
fn inner(segment: &PathSegment) -> Option<&Type> {
    match &segment.arguments {
        PathArguments::AngleBracketed(arguments) => match arguments.args.first() {
            Some(GenericArgument::Type(ty)) => Some(ty),
            _ => None,
        },
        PathArguments::None | PathArguments::Parenthesized(_) => None,
    }
}

/// The type inside the invisible group of a `$ty` fragment.
pub(crate) fn ungroup(mut ty: &Type) -> &Type {
    loop {
        ty = match ty {
            Type::Group(group) => &group.elem,
            Type::Paren(paren) => &paren.elem,
            other => return other,
        };
    }
}

/// Whether a type is literally `name`, bare or from the standard library.
pub(crate) fn is_literally(ty: &Type, name: &str) -> bool {
    match ungroup(ty) {
        Type::Path(path) => standard_name(&path.path, path.qself.is_some())
            .is_some_and(|segment| segment.ident == name),
        _ => false,
    }
}

/// The `T` of a type that is literally `Option<T>`.
pub(crate) fn inside_option(ty: &Type) -> Option<&Type> {
    match ungroup(ty) {
        Type::Path(path) => standard_name(&path.path, path.qself.is_some())
            .filter(|segment| segment.ident == "Option")
            .and_then(inner),
        _ => None,
    }
}

/// Whether a type is a key by its literal name.
pub(crate) fn is_primitive_key(ty: &Type) -> bool {
    const NAMES: [&str; 9] = [
        "i8", "i16", "i32", "i64", "u8", "u16", "u32", "bool", "String",
    ];
    NAMES.iter().any(|name| is_literally(ty, name))
}

/// Whether a type is literally a number that every record has. An alias may hide an option.
pub(crate) fn is_literally_number(ty: &Type) -> bool {
    const NAMES: [&str; 9] = ["f64", "f32", "i64", "i32", "i16", "i8", "u32", "u16", "u8"];
    NAMES.iter().any(|name| is_literally(ty, name))
}

/// Whether a type's name is one of the times'.
pub(crate) fn looks_like_time(ty: &Type) -> bool {
    match ungroup(ty) {
        Type::Path(path) => path.path.segments.last().is_some_and(|segment| {
            ["DateTime", "OffsetDateTime", "Timestamp"]
                .iter()
                .any(|name| segment.ident == name)
        }),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use syn::{Type, parse_quote};

    use super::{is_literally, wrong_key, wrong_measure, wrong_time};

    #[test]
    fn literal_names_are_recognised_and_the_rest_is_left_to_rustc() {
        let wrong: [Type; 5] = [
            parse_quote!(f64),
            parse_quote!(std::option::Option<i64>),
            parse_quote!((i64, i64)),
            parse_quote!(u64),
            parse_quote!(&'static str),
        ];
        assert!(wrong.iter().all(|ty| wrong_key(ty).is_some()));
        let other: [Type; 3] = [
            parse_quote!(i64),
            parse_quote!(mine::Vec),
            parse_quote!(<A as B>::f64),
        ];
        assert!(other.iter().all(|ty| wrong_key(ty).is_none()));
        assert!(wrong_time(&parse_quote!(Option<DateTime>)).is_some());
        assert!(wrong_time(&parse_quote!(chrono::DateTime<Utc>)).is_none());
    }

    #[test]
    fn what_is_no_number_is_recognised_inside_of_an_option_too() {
        let instead = |ty: &Type| wrong_measure(ty).map(|wrong| wrong.instead);
        assert_eq!(instead(&parse_quote!(u64)).as_deref(), Some("i64"));
        let option: Type = parse_quote!(Option<std::string::String>);
        assert_eq!(instead(&option).as_deref(), Some("Option<f64>"));
        assert_eq!(instead(&parse_quote!(Option<f32>)), None);
        assert_eq!(instead(&parse_quote!(Celsius)), None);
    }

    #[test]
    fn the_type_inside_of_an_option_is_what_to_write() {
        let wrong = wrong_time(&parse_quote!(Option<chrono::DateTime<Utc>>));
        assert_eq!(
            wrong.map(|wrong| wrong.instead).as_deref(),
            Some("chrono::DateTime<Utc>")
        );
        assert!(is_literally(&parse_quote!(std::string::String), "String"));
    }
}
