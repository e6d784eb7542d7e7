//! Offers a value for whatever a `Deserialize` asks for.

use std::fmt;

use bucket_mongo::bson::RawDeserializer;
use serde::{
    Deserializer,
    de::{
        self, DeserializeSeed, EnumAccess, IntoDeserializer, MapAccess, SeqAccess, VariantAccess,
        Visitor, value::StrDeserializer,
    },
};

use super::{
    offers::{ANY_KEY, BYTES, CHARS, TEXTS, VALUES},
    refusal::{Refusal, refusal},
    tree::{Id, Tree, Type},
};

/// A place that offers a value.
#[derive(Clone, Copy)]
pub(super) struct Offer<'t> {
    tree: &'t Tree,
    id: Id,
}

impl<'t> Offer<'t> {
    pub(super) fn root(tree: &'t Tree) -> Self {
        Self { tree, id: 0 }
    }

    fn child(self, at: usize, name: &str) -> Self {
        Self {
            id: self.tree.child(self.id, at, name),
            ..self
        }
    }

    fn choose<C: Copy>(self, from: &[C]) -> Result<C, Refusal> {
        let chosen = self.tree.choose(self.id, from.len(), false);
        chosen
            .and_then(|at| from.get(at).copied())
            .ok_or_else(|| refusal("no sample fits"))
    }

    fn branch(self, number: usize) -> Result<usize, Refusal> {
        let chosen = self.tree.choose(self.id, number, true);
        chosen.ok_or_else(|| refusal("no sample fits"))
    }

    /// A value of BSON, as its own deserializer shows it.
    fn of_bson<'de, V: Visitor<'de>>(
        self,
        visitor: V,
        newtype: Option<&'static str>,
    ) -> Result<V::Value, Refusal> {
        let values: &'static [Vec<u8>] = &VALUES;
        let offers: Vec<usize> = (0..values.len()).collect();
        let chosen = self.choose(&offers)?;
        let document =
            RawDeserializer::new(&values[chosen]).map_err(|error| refusal(&error.to_string()))?;
        let read = document.deserialize_map(One(Forward { visitor, newtype }));
        read.map_err(de::Error::custom)
    }
}

/// Reads the only value of a document.
struct One<S>(S);

impl<'de, S: DeserializeSeed<'de>> Visitor<'de> for One<S> {
    type Value = S::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a document")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<S::Value, A::Error> {
        map.next_key::<de::IgnoredAny>()?;
        map.next_value_seed(self.0)
    }
}

/// Passes a value on.
struct Forward<V> {
    visitor: V,
    newtype: Option<&'static str>,
}

impl<'de, V: Visitor<'de>> DeserializeSeed<'de> for Forward<V> {
    type Value = V::Value;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<V::Value, D::Error> {
        match self.newtype {
            Some(name) => from.deserialize_newtype_struct(name, self.visitor),
            None => from.deserialize_any(self.visitor),
        }
    }
}

macro_rules! numbers {
    ($($method:ident: $visit:ident, $one:expr, $zero:expr);+ $(;)?) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
            visitor.$visit(self.choose(&[$one, $zero])?)
        }
    )+};
}

impl<'de> Deserializer<'de> for Offer<'_> {
    type Error = Refusal;

    numbers! {
        deserialize_bool: visit_bool, true, false;
        deserialize_i8: visit_i8, 1, 0;
        deserialize_i16: visit_i16, 1, 0;
        deserialize_i32: visit_i32, 1, 0;
        deserialize_i64: visit_i64, 1, 0;
        deserialize_u8: visit_u8, 1, 0;
        deserialize_u16: visit_u16, 1, 0;
        deserialize_u32: visit_u32, 1, 0;
        deserialize_u64: visit_u64, 1, 0;
        deserialize_f32: visit_f32, 1.0, 0.0;
        deserialize_f64: visit_f64, 1.0, 0.0;
    }

    fn is_human_readable(&self) -> bool {
        false
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        self.of_bson(visitor, None)
    }

    fn deserialize_char<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        visitor.visit_char(self.choose(&CHARS)?)
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        visitor.visit_borrowed_str(self.choose(&TEXTS)?)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        self.deserialize_str(visitor)
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        visitor.visit_borrowed_bytes(self.choose(&BYTES)?)
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        self.deserialize_bytes(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        match self.branch(2)? {
            0 => visitor.visit_some(self.child(0, "")),
            _ => visitor.visit_none(),
        }
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        visitor.visit_unit()
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Refusal> {
        visitor.visit_unit()
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Refusal> {
        if name.starts_with("$__") {
            return self.of_bson(visitor, Some(name));
        }
        self.entered((name, &[]))?;
        visitor.visit_newtype_struct(self.child(0, ""))
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        let number = usize::from(self.branch(2)? == 0);
        visitor.visit_seq(Items {
            of: self,
            at: 0,
            number,
        })
    }

    fn deserialize_tuple<V: Visitor<'de>>(
        self,
        number: usize,
        visitor: V,
    ) -> Result<V::Value, Refusal> {
        if self.tree.is_too_deep(self.id) {
            return Err(inside_of_itself());
        }
        visitor.visit_seq(Items {
            of: self,
            at: 0,
            number,
        })
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        number: usize,
        visitor: V,
    ) -> Result<V::Value, Refusal> {
        self.entered((name, &[]))?;
        self.deserialize_tuple(number, visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        let mut names = self.tree.enter_map(self.id);
        if self.branch(2)? == 0 {
            names.push(ANY_KEY);
        }
        visitor.visit_map(Entries {
            // All of them are below the first branch, which is done once they are.
            of: self.child(0, ""),
            names: &names,
            at: 0,
        })
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Refusal> {
        self.entered((name, fields))?;
        visitor.visit_map(Entries {
            of: self,
            names: fields,
            at: 0,
        })
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Refusal> {
        self.entered((name, variants))?;
        let chosen = self.branch(variants.len())?;
        visitor.visit_enum(Variant {
            of: self.child(chosen, variants[chosen]),
            name: variants[chosen],
        })
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        self.deserialize_str(visitor)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Refusal> {
        visitor.visit_unit()
    }
}

impl Offer<'_> {
    fn entered(self, of: Type) -> Result<(), Refusal> {
        if self.tree.enter(self.id, of) {
            return Ok(());
        }
        Err(inside_of_itself())
    }
}

fn inside_of_itself() -> Refusal {
    refusal("a value of its own type is inside of it")
}

/// The items of a list or a tuple.
struct Items<'t> {
    of: Offer<'t>,
    at: usize,
    number: usize,
}

impl<'de> SeqAccess<'de> for Items<'_> {
    type Error = Refusal;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Refusal> {
        if self.at == self.number {
            return Ok(None);
        }
        let item = self.of.child(self.at, &self.at.to_string());
        self.at += 1;
        seed.deserialize(item).map(Some)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.number - self.at)
    }
}

/// The fields of a struct, or the entries of a map.
struct Entries<'t, 'n> {
    of: Offer<'t>,
    names: &'n [&'static str],
    at: usize,
}

impl<'de> MapAccess<'de> for Entries<'_, '_> {
    type Error = Refusal;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Refusal> {
        let Some(name) = self.names.get(self.at) else {
            return Ok(None);
        };
        let name: StrDeserializer<'_, Refusal> = name.into_deserializer();
        seed.deserialize(name).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Refusal> {
        let name = self.names.get(self.at).copied().unwrap_or_default();
        // Names that are asked for later come before the key of any name.
        let place = if name == ANY_KEY { usize::MAX } else { self.at };
        let shown = if name == ANY_KEY { "*" } else { name };
        let value = self.of.child(place, shown);
        self.at += 1;
        seed.deserialize(value)
    }
}

/// A variant of an enum.
struct Variant<'t> {
    of: Offer<'t>,
    name: &'static str,
}

impl<'de, 't> EnumAccess<'de> for Variant<'t> {
    type Error = Refusal;
    type Variant = Offer<'t>;

    fn variant_seed<S: DeserializeSeed<'de>>(
        self,
        seed: S,
    ) -> Result<(S::Value, Offer<'t>), Refusal> {
        let name: StrDeserializer<'_, Refusal> = self.name.into_deserializer();
        let by_name = seed.deserialize(name)?;
        Ok((by_name, self.of))
    }
}

impl<'de> VariantAccess<'de> for Offer<'_> {
    type Error = Refusal;

    fn unit_variant(self) -> Result<(), Refusal> {
        Ok(())
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, Refusal> {
        seed.deserialize(self.child(0, ""))
    }

    fn tuple_variant<V: Visitor<'de>>(
        self,
        number: usize,
        visitor: V,
    ) -> Result<V::Value, Refusal> {
        self.deserialize_tuple(number, visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Refusal> {
        visitor.visit_map(Entries {
            of: self,
            names: fields,
            at: 0,
        })
    }
}
