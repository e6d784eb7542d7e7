//! Readings from CSV: the columns, and the values that each may hold.

use example_kit::{
    Error,
    csv_input::{
        self, FromRow, Row, RowError, Values,
        field::{date, name, number, shown},
    },
};

use crate::model::{Reading, full_quality};

/// The real readings that are part of this program, in their order of arrival.
const BUILT_IN: &[u8] = include_bytes!("../data/sensors.csv");

impl FromRow for Reading {
    const COLUMNS: &'static [&'static str] = &["device_id", "sensor_type", "timestamp", "value"];
    const OPTIONAL: &'static [&'static str] = &["quality"];

    fn from_row(row: &Values<'_>) -> Result<Self, RowError> {
        Ok(Self {
            device_id: row.read("device_id", name)?,
            sensor_type: row.read("sensor_type", name)?,
            timestamp: row.read("timestamp", date)?,
            // NaN and infinities are left to the model, which refuses them.
            value: row.read("value", number)?,
            quality: row
                .read_optional("quality", quality)?
                .unwrap_or_else(full_quality),
        })
    }
}

/// The model has no aggregate over this field, so it would accept any number.
fn quality(text: &str) -> Result<f64, String> {
    match number(text)? {
        quality if quality.is_finite() => Ok(quality),
        _ => Err(format!("{} is not a finite number", shown(text))),
    }
}

/// The built-in readings.
pub(crate) fn built_in() -> Result<Vec<Row<Reading>>, Error> {
    csv_input::built_in("readings", BUILT_IN)
}

#[cfg(test)]
mod tests {
    use example_kit::csv_input::Rows;

    use super::*;

    fn read(file: &str) -> Vec<Result<Reading, String>> {
        let mut rows = Rows::<_, Reading>::new(file.as_bytes()).unwrap();
        let next = || rows.next_row().unwrap();
        std::iter::from_fn(next)
            .map(|row| row.map(|row| row.record).map_err(|error| error.to_string()))
            .collect()
    }

    #[test]
    fn every_built_in_row_is_a_reading() {
        assert_eq!(built_in().unwrap().len(), 53_060);
    }

    #[test]
    fn a_quality_of_0_stays_0_and_a_missing_one_is_1() {
        let file = "device_id,sensor_type,timestamp,value,quality\n\
            a,b,2014-02-14T14:30:00Z,1,0\n\
            a,b,2014-02-14T14:30:00Z,1,0.25\n\
            a,b,2014-02-14T14:30:00Z,1, \n\
            a,b,2014-02-14T14:30:00Z,1\n";
        let qualities: Vec<_> = read(file)
            .into_iter()
            .map(|row| row.unwrap().quality)
            .collect();
        assert_eq!(qualities, [0.0, 0.25, 1.0, 1.0]);
        let without = "device_id,sensor_type,timestamp,value\na,b,2014-02-14T14:30:00Z,1\n";
        assert_eq!(
            read(without)[0].as_ref().unwrap().quality.to_bits(),
            1.0_f64.to_bits()
        );
    }

    #[test]
    fn each_column_says_what_it_expects() {
        let file = "device_id,sensor_type,timestamp,value,quality\n\
            ,b,2014-02-14T14:30:00Z,1,1\n\
            a,,2014-02-14T14:30:00Z,1,1\n\
            a,b,noon,1,1\n\
            a,b,2014-02-14T14:30:00Z,warm,1\n\
            a,b,2014-02-14T14:30:00Z,1,good\n\
            a,b,2014-02-14T14:30:00Z,1,inf\n";
        let said: Vec<_> = read(file).into_iter().map(Result::unwrap_err).collect();
        assert_eq!(
            said,
            [
                "line 2, column device_id: is empty",
                "line 3, column sensor_type: is empty",
                "line 4, column timestamp: `noon` is not a date such as 2010-12-01T08:26:00Z",
                "line 5, column value: `warm` is not a number",
                "line 6, column quality: `good` is not a number",
                "line 7, column quality: `inf` is not a finite number",
            ]
        );
    }
}
