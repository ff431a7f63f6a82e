//! Tests of the guards in the folders beside this one. There is no code here.
