//! Reads the shape of a value off the calls that its `Serialize` makes.

use std::{any, fmt};

use serde::{
    Serialize,
    ser::{self, Serializer},
};

use super::{Place, Shape};
use crate::magic;

/// Why a value has no shape.
#[derive(Debug)]
pub(crate) struct Observation(pub(crate) String);

impl fmt::Display for Observation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Observation {}

impl ser::Error for Observation {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self(message.to_string())
    }
}

/// The shape of this value. `flat`: a map at its top has a field for each key, as one of a flattened struct.
pub(crate) fn observe<T: Serialize + ?Sized>(value: &T, flat: bool) -> Result<Place, Observation> {
    value.serialize(Observer { flat })
}

#[derive(Clone, Copy)]
struct Observer {
    flat: bool,
}

const INNER: Observer = Observer { flat: false };

impl Serializer for Observer {
    type Ok = Place;
    type Error = Observation;
    type SerializeSeq = Items;
    type SerializeTuple = Parts;
    type SerializeTupleStruct = Parts;
    type SerializeTupleVariant = Variant<Parts>;
    type SerializeMap = Entries;
    type SerializeStruct = Fields;
    type SerializeStructVariant = Variant<Fields>;

    fn is_human_readable(&self) -> bool {
        false
    }

    fn serialize_bool(self, _: bool) -> Result<Place, Observation> {
        Ok(Place::of(Shape::Bool))
    }

    fn serialize_i8(self, _: i8) -> Result<Place, Observation> {
        Ok(Place::of(Shape::Int8))
    }

    fn serialize_i16(self, _: i16) -> Result<Place, Observation> {
        Ok(Place::of(Shape::Int16))
    }

    fn serialize_i32(self, _: i32) -> Result<Place, Observation> {
        Ok(Place::of(Shape::Int32))
    }

    fn serialize_i64(self, _: i64) -> Result<Place, Observation> {
        Ok(Place::of(Shape::Int64))
    }

    fn serialize_u8(self, _: u8) -> Result<Place, Observation> {
        Ok(Place::of(Shape::UInt8))
    }

    fn serialize_u16(self, _: u16) -> Result<Place, Observation> {
        Ok(Place::of(Shape::UInt16))
    }

    fn serialize_u32(self, _: u32) -> Result<Place, Observation> {
        Ok(Place::of(Shape::UInt32))
    }

    fn serialize_u64(self, _: u64) -> Result<Place, Observation> {
        Ok(Place::of(Shape::UInt64))
    }

    fn serialize_f32(self, _: f32) -> Result<Place, Observation> {
        Ok(Place::of(Shape::Float32))
    }

    fn serialize_f64(self, _: f64) -> Result<Place, Observation> {
        Ok(Place::of(Shape::Float64))
    }

    fn serialize_char(self, _: char) -> Result<Place, Observation> {
        Ok(Place::of(Shape::Text))
    }

    fn serialize_str(self, _: &str) -> Result<Place, Observation> {
        Ok(Place::of(Shape::Text))
    }

    fn serialize_bytes(self, _: &[u8]) -> Result<Place, Observation> {
        Ok(Place::of(Shape::Bytes))
    }

    fn serialize_none(self) -> Result<Place, Observation> {
        Ok(Place::null())
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<Place, Observation> {
        let place = value.serialize(INNER)?;
        Ok(Place {
            null: true,
            ..place
        })
    }

    fn serialize_unit(self) -> Result<Place, Observation> {
        Ok(Place::null())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<Place, Observation> {
        Ok(Place::null())
    }

    fn serialize_unit_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
    ) -> Result<Place, Observation> {
        Ok(Place::of(Shape::Enum(vec![(variant.to_owned(), None)])))
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        value: &T,
    ) -> Result<Place, Observation> {
        match magic::newtype(name) {
            Some(shape) => Ok(Place::of(shape)),
            None => value.serialize(self),
        }
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<Place, Observation> {
        let data = value.serialize(INNER)?;
        Ok(Place::of(Shape::Enum(vec![(
            variant.to_owned(),
            Some(data),
        )])))
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Items, Observation> {
        Ok(Items(Place::default()))
    }

    fn serialize_tuple(self, _: usize) -> Result<Parts, Observation> {
        Ok(Parts(Vec::new()))
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Parts, Observation> {
        Ok(Parts(Vec::new()))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Variant<Parts>, Observation> {
        Ok(Variant(variant, Parts(Vec::new())))
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Entries, Observation> {
        Ok(Entries {
            fields: self.flat.then(Vec::new),
            of_map: Vec::new(),
            is_of_map: false,
            name: String::new(),
            value: Place::default(),
        })
    }

    fn serialize_struct(self, name: &'static str, _: usize) -> Result<Fields, Observation> {
        Ok(Fields {
            fields: Vec::new(),
            magic: magic::structure(name),
        })
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Variant<Fields>, Observation> {
        let fields = Fields {
            fields: Vec::new(),
            magic: None,
        };
        Ok(Variant(variant, fields))
    }
}

/// The items of a list.
pub(crate) struct Items(Place);

impl ser::SerializeSeq for Items {
    type Ok = Place;
    type Error = Observation;

    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Observation> {
        self.0 = std::mem::take(&mut self.0).join(value.serialize(INNER)?);
        Ok(())
    }

    fn end(self) -> Result<Place, Observation> {
        Ok(Place::of(Shape::List(Box::new(self.0))))
    }
}

/// The parts of a tuple.
pub(crate) struct Parts(Vec<Place>);

impl Parts {
    fn add<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Observation> {
        self.0.push(value.serialize(INNER)?);
        Ok(())
    }
}

/// Tuples and tuple structs differ in the name of serde's method only.
macro_rules! parts {
    ($($kind:ident: $method:ident),+) => {$(
        impl ser::$kind for Parts {
            type Ok = Place;
            type Error = Observation;

            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Observation> {
                self.add(value)
            }

            fn end(self) -> Result<Place, Observation> {
                Ok(Place::of(Shape::Tuple(self.0)))
            }
        }
    )+};
}

parts! { SerializeTuple: serialize_element, SerializeTupleStruct: serialize_field }

/// A variant with several values.
pub(crate) struct Variant<D>(&'static str, D);

impl ser::SerializeTupleVariant for Variant<Parts> {
    type Ok = Place;
    type Error = Observation;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Observation> {
        self.1.add(value)
    }

    fn end(self) -> Result<Place, Observation> {
        // One without parts has no data: there is no column for nothing.
        let parts = Some(self.1.0).filter(|parts| !parts.is_empty());
        let data = parts.map(|parts| Place::of(Shape::Tuple(parts)));
        Ok(Place::of(Shape::Enum(vec![(self.0.to_owned(), data)])))
    }
}

impl ser::SerializeStructVariant for Variant<Fields> {
    type Ok = Place;
    type Error = Observation;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        name: &'static str,
        value: &T,
    ) -> Result<(), Observation> {
        self.1.add(name, value)
    }

    fn end(self) -> Result<Place, Observation> {
        let fields = Some(self.1.fields).filter(|fields| !fields.is_empty());
        let data = fields.map(|fields| Place::of(Shape::Struct(fields)));
        Ok(Place::of(Shape::Enum(vec![(self.0.to_owned(), data)])))
    }
}

/// The fields of a struct.
pub(crate) struct Fields {
    fields: Vec<(String, Place)>,
    magic: Option<Shape>,
}

impl Fields {
    fn add<T: Serialize + ?Sized>(&mut self, name: &str, value: &T) -> Result<(), Observation> {
        if self.magic.is_none() {
            let value = value.serialize(INNER)?;
            self.fields.push((name.to_owned(), value));
        }
        Ok(())
    }
}

impl ser::SerializeStruct for Fields {
    type Ok = Place;
    type Error = Observation;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        name: &'static str,
        value: &T,
    ) -> Result<(), Observation> {
        self.add(name, value)
    }

    fn end(self) -> Result<Place, Observation> {
        Ok(Place::of(self.magic.unwrap_or(Shape::Struct(self.fields))))
    }
}

/// The entries of a map, as fields if it is flat.
pub(crate) struct Entries {
    fields: Option<Vec<(String, Place)>>,
    /// The fields of a flattened map.
    of_map: Vec<(String, Place)>,
    is_of_map: bool,
    name: String,
    value: Place,
}

impl ser::SerializeMap for Entries {
    type Ok = Place;
    type Error = Observation;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Observation> {
        self.name = magic::name_of(key).map_err(Observation)?;
        // What `derive` writes has the names of fields as `str`, which no key of a map is, because it has no size.
        self.is_of_map = any::type_name::<T>() != any::type_name::<str>();
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Observation> {
        let value = value.serialize(INNER)?;
        match &mut self.fields {
            Some(fields) => {
                let fields = if self.is_of_map {
                    &mut self.of_map
                } else {
                    fields
                };
                fields.push((std::mem::take(&mut self.name), value));
            }
            None => self.value = std::mem::take(&mut self.value).join(value),
        }
        Ok(())
    }

    fn end(mut self) -> Result<Place, Observation> {
        // A `HashMap` has another order in each process.
        self.of_map.sort_by(|(one, _), (other, _)| one.cmp(other));
        Ok(Place::of(match self.fields {
            Some(mut fields) => {
                fields.append(&mut self.of_map);
                Shape::Struct(fields)
            }
            None => Shape::Map(Box::new(self.value)),
        }))
    }
}
