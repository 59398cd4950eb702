//! Record batches as rows of cells, to compare them with rows.

use arrow_array::cast::AsArray as _;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{Array as _, RecordBatch};
use arrow_schema::DataType;
use model::Value;

/// Returns the rows of a batch.
pub fn cells(batch: &RecordBatch) -> Vec<Vec<Value>> {
    let cell = |row: usize| {
        move |column: &arrow_array::ArrayRef| match column.data_type() {
            _ if column.is_null(row) => Value::Null,
            DataType::Int64 => Value::Int(column.as_primitive::<Int64Type>().value(row)),
            DataType::Float64 => Value::Float(column.as_primitive::<Float64Type>().value(row)),
            DataType::Boolean => Value::Bool(column.as_boolean().value(row)),
            _ => Value::Text(column.as_string::<i32>().value(row).to_owned()),
        }
    };
    (0..batch.num_rows()).map(|row| batch.columns().iter().map(cell(row)).collect()).collect()
}
