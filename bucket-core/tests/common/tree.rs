//! Any value that a `Serialize` can produce: a call of serde's data model, with nested calls.
#![allow(dead_code, unreachable_pub)]

use proptest::{collection::vec, prelude::*};
use serde::{
    Serialize, Serializer,
    ser::{
        SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
        SerializeTupleStruct, SerializeTupleVariant,
    },
};

#[derive(Debug, Clone, Default)]
pub enum Tree {
    #[default]
    Unit,
    None,
    Bool(bool),
    I8(i8),
    I16(i16),
    I32(i32),
    I64(i64),
    I128(i128),
    U8(u8),
    U16(u16),
    U32(u32),
    U64(u64),
    F32(f32),
    F64(f64),
    Char(char),
    Str(String),
    Collected(i64),
    Bytes(Vec<u8>),
    Some(Box<Tree>),
    UnitStruct,
    UnitVariant(&'static str),
    NewtypeStruct(&'static str, Box<Tree>),
    NewtypeVariant(&'static str, Box<Tree>),
    Seq(Vec<Tree>),
    Tuple(Vec<Tree>),
    TupleStruct(Vec<Tree>),
    TupleVariant(&'static str, Vec<Tree>),
    Map(Vec<(Tree, Tree)>),
    Struct(&'static str, Vec<(&'static str, Tree)>),
    StructVariant(&'static str, Vec<(&'static str, Tree)>),
    Failing,
}

impl Serialize for Tree {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Unit => to.serialize_unit(),
            Self::None => to.serialize_none(),
            Self::Bool(value) => to.serialize_bool(*value),
            Self::I8(value) => to.serialize_i8(*value),
            Self::I16(value) => to.serialize_i16(*value),
            Self::I32(value) => to.serialize_i32(*value),
            Self::I64(value) => to.serialize_i64(*value),
            Self::I128(value) => to.serialize_i128(*value),
            Self::U8(value) => to.serialize_u8(*value),
            Self::U16(value) => to.serialize_u16(*value),
            Self::U32(value) => to.serialize_u32(*value),
            Self::U64(value) => to.serialize_u64(*value),
            Self::F32(value) => to.serialize_f32(*value),
            Self::F64(value) => to.serialize_f64(*value),
            Self::Char(value) => to.serialize_char(*value),
            Self::Str(value) => to.serialize_str(value),
            Self::Collected(value) => to.collect_str(value),
            Self::Bytes(value) => to.serialize_bytes(value),
            Self::Some(value) => to.serialize_some(value),
            Self::UnitStruct => to.serialize_unit_struct("Unit"),
            Self::UnitVariant(name) => to.serialize_unit_variant("Enum", 0, name),
            Self::NewtypeStruct(name, value) => to.serialize_newtype_struct(name, value),
            Self::NewtypeVariant(name, value) => {
                to.serialize_newtype_variant("Enum", 1, name, value)
            }
            Self::Seq(values) => {
                let mut seq = to.serialize_seq(None)?;
                values.iter().try_for_each(|v| seq.serialize_element(v))?;
                seq.end()
            }
            Self::Tuple(values) => {
                let mut tuple = to.serialize_tuple(values.len())?;
                values.iter().try_for_each(|v| tuple.serialize_element(v))?;
                tuple.end()
            }
            Self::TupleStruct(values) => {
                let mut tuple = to.serialize_tuple_struct("Tuple", values.len())?;
                values.iter().try_for_each(|v| tuple.serialize_field(v))?;
                tuple.end()
            }
            Self::TupleVariant(name, values) => {
                let mut tuple = to.serialize_tuple_variant("Enum", 2, name, values.len())?;
                values.iter().try_for_each(|v| tuple.serialize_field(v))?;
                tuple.end()
            }
            Self::Map(entries) => {
                let mut map = to.serialize_map(Some(entries.len()))?;
                for (key, value) in entries {
                    map.serialize_key(key)?;
                    map.serialize_value(value)?;
                }
                map.end()
            }
            Self::Struct(name, entries) => {
                let mut fields = to.serialize_struct(name, entries.len())?;
                for (name, value) in entries {
                    fields.serialize_field(name, value)?;
                }
                fields.end()
            }
            Self::StructVariant(name, entries) => {
                let mut fields = to.serialize_struct_variant("Enum", 3, name, entries.len())?;
                for (name, value) in entries {
                    fields.serialize_field(name, value)?;
                }
                fields.end()
            }
            Self::Failing => Err(serde::ser::Error::custom("no form")),
        }
    }
}

/// Names of fields and variants, including odd ones.
fn name() -> impl Strategy<Value = &'static str> {
    prop_oneof![
        20 => prop_oneof![Just("a"), Just("value"), Just("Gr\u{fc}n"), Just(""), Just("$a")],
        1 => Just("a\0b"),
    ]
}

/// Names of structs, including those with a meaning for `bson`.
fn type_name() -> impl Strategy<Value = &'static str> {
    prop_oneof![
        Just("Plain"),
        Just("$plain"),
        Just("$oid"),
        Just("$date"),
        Just("$minKey"),
        Just("$code"),
        Just("$codeWithScope"),
        Just("$binary"),
    ]
}

fn leaf() -> impl Strategy<Value = Tree> {
    prop_oneof![
        Just(Tree::Unit),
        Just(Tree::None),
        Just(Tree::UnitStruct),
        any::<bool>().prop_map(Tree::Bool),
        any::<i8>().prop_map(Tree::I8),
        any::<i16>().prop_map(Tree::I16),
        any::<i32>().prop_map(Tree::I32),
        any::<i64>().prop_map(Tree::I64),
        any::<u8>().prop_map(Tree::U8),
        any::<u16>().prop_map(Tree::U16),
        any::<u32>().prop_map(Tree::U32),
        (any::<u64>(), 0..63_u32).prop_map(|(value, by)| Tree::U64(value >> by)),
        any::<f32>().prop_map(Tree::F32),
        any::<f64>().prop_map(Tree::F64),
        any::<char>().prop_map(Tree::Char),
        ".{0,9}".prop_map(Tree::Str),
        any::<i64>().prop_map(Tree::Collected),
        vec(any::<u8>(), 0..9).prop_map(Tree::Bytes),
        name().prop_map(Tree::UnitVariant),
    ]
}

/// Values, some of which no BSON document can hold.
pub fn tree() -> impl Strategy<Value = Tree> {
    let leaf = prop_oneof![
        60 => leaf(),
        1 => Just(Tree::Failing),
        1 => any::<i128>().prop_map(Tree::I128),
    ];
    leaf.prop_recursive(4, 24, 12, |inner| {
        let boxed = || inner.clone().prop_map(Box::new);
        let values = || vec(inner.clone(), 0..12);
        let fields = || vec((name(), inner.clone()), 0..4);
        let key = prop_oneof![
            30 => ".{0,5}".prop_map(Tree::Str),
            10 => name().prop_map(Tree::UnitVariant),
            1 => inner.clone(),
        ];
        prop_oneof![
            boxed().prop_map(Tree::Some),
            (type_name(), boxed()).prop_map(|(name, value)| Tree::NewtypeStruct(name, value)),
            (name(), boxed()).prop_map(|(name, value)| Tree::NewtypeVariant(name, value)),
            values().prop_map(Tree::Seq),
            values().prop_map(Tree::Tuple),
            values().prop_map(Tree::TupleStruct),
            (name(), values()).prop_map(|(name, values)| Tree::TupleVariant(name, values)),
            vec((key, inner.clone()), 0..4).prop_map(Tree::Map),
            fields().prop_map(|fields| Tree::Struct("Plain", fields)),
            (type_name(), fields()).prop_map(|(name, fields)| Tree::Struct(name, fields)),
            (type_name(), inner.clone())
                .prop_map(|(name, value)| { Tree::Struct(name, Vec::from([(name, value)])) }),
            (name(), fields()).prop_map(|(name, fields)| Tree::StructVariant(name, fields)),
        ]
    })
}
