//! The shaders against wellspring-pseudo: on a device of this machine, and in a browser.

mod browser;
mod device;
