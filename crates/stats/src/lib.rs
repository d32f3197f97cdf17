//! Intervals, comparisons, warm-up detection and the knee of a curve. Pure.
#![forbid(unsafe_code)]
