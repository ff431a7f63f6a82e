//! How the shared library is linked.

fn main() {
    // nodelete: a JVM unloads the library when it drops the class loader, and threads that end later still call the
    // destructors of their data.
    for argument in ["-z,nodelete", "-z,now", "-z,relro"] {
        println!("cargo::rustc-cdylib-link-arg=-Wl,{argument}");
    }
    println!("cargo::rerun-if-changed=build.rs");
}
