//! How the shared library is linked.

fn main() {
    let arguments = [
        "-soname,libwellspring-preload.so",
        "-z,nodelete",
        // What the library calls itself is its own `syscall`, and not one of a library that was preloaded before it.
        "-Bsymbolic-functions",
        // A first call in a signal handler must not look for symbols.
        "-z,now",
        "-z,relro",
    ];
    for argument in arguments {
        println!("cargo::rustc-cdylib-link-arg=-Wl,{argument}");
    }
    println!("cargo::rerun-if-changed=build.rs");
}
