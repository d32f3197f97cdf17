//! The knob registry: typed records, values and units, configurations, the memory model. Pure.
#![forbid(unsafe_code)]
