//! The listings of the guide for programs do what it says.
