# Gives the generators of a Perl program new state when its machine was cloned or restored.
#
#     perl -I/usr/local/lib/wellspring/guards/perl -MWellspring::CloneGuard program.pl
#     PERL5LIB=/usr/local/lib/wellspring/guards/perl PERL5OPT=-MWellspring::CloneGuard          for every program
#
# `rand` then compares the number of the generation page (docs/generation-page.md of the project) before each draw. After a
# change `rand`, `shuffle` and `sample` have a new seed, if the program has not called `srand` with one; Net::SSLeay takes
# 256 bits, if it is loaded; and what the program has given to `register` is called.
#
# A program that calls `rand` very often loads the module without names and looks by itself, before each of its tasks:
#
#     use Wellspring::CloneGuard ();
#     Wellspring::CloneGuard::check();
package Wellspring::CloneGuard;

use strict;
use warnings;
use Digest::SHA ();
use Fcntl qw(O_RDONLY O_NOFOLLOW O_NONBLOCK S_ISREG SEEK_SET);
use POSIX ();
use Time::HiRes ();

my $PAGE = $ENV{WELLSPRING_PAGE} // '/run/wellspring/generation';
my ($PAGE_BYTES, $COUNTER) = (4096, 104);
# A page may appear or be replaced: the path is looked at once a second.
my $OPEN_S = 1;
# mmap(2). On other machines the file is read.
my $MMAP = { x86_64 => 9, aarch64 => 222 }->{ (POSIX::uname())[4] };
my ($PROT_READ, $MAP_SHARED) = (1, 1);

my ($file, $inode, $word, $handled, $next_open_s, $had_page, $has_seed);
my ($notices, $last_ms) = (0, 0);
my @functions;

sub import {
    no warnings 'redefine';
    *CORE::GLOBAL::rand = sub (;$) { check(); CORE::rand($_[0] // 1) };
    *CORE::GLOBAL::srand = sub (;$) {
        $has_seed = defined $_[0];
        $has_seed ? CORE::srand($_[0]) : CORE::srand();
    };
    return;
}

# Looks for a change now, and heals. Returns whether there was one.
sub check {
    open_page() if time >= $next_open_s;
    return '' if !defined $file;
    my $number = read_number();
    return '' if $number eq $handled;
    $handled = $number;
    heal();
    return 1;
}

# Does what a notice does.
sub heal {
    my $began = Time::HiRes::time();
    CORE::srand(unpack 'L', fresh()) if !$has_seed;
    my @actions = @functions;
    push @actions, sub { Net::SSLeay::RAND_add(fresh(), 32) } if defined &Net::SSLeay::RAND_add;
    for my $action (@actions) {
        # One generator must not keep the others as they were.
        eval { $action->(); 1 } or warn $@;
    }
    $last_ms = 1e3 * (Time::HiRes::time() - $began);
    $notices++;
    return;
}

# A function that is called at a notice.
sub register {
    push @functions, @_;
    return;
}

sub status { return { page => defined $file, notices => $notices, last_ms => $last_ms } }

# The kernel's bytes, which vmgenid has changed, and the clocks, for copies whose kernel had no notice.
sub fresh {
    open my $urandom, '<:raw', '/dev/urandom' or die "/dev/urandom: $!\n";
    sysread $urandom, my $seed, 32;
    return Digest::SHA::sha256($seed, join ' ', map { Time::HiRes::clock_gettime($_) }
        Time::HiRes::CLOCK_MONOTONIC(), Time::HiRes::CLOCK_REALTIME());
}

# The eight bytes of the number.
sub read_number {
    return unpack 'P8', $word if defined $word;
    sysseek $file, $COUNTER, SEEK_SET;
    sysread $file, my $number, 8;
    return $number;
}

# Keeps the file if this process may believe it.
sub open_page {
    my $is_first = !defined $next_open_s || $next_open_s == 0;
    $next_open_s = time + $OPEN_S;
    return if defined $inode && ((stat $PAGE)[1] // $inode) == $inode;
    sysopen my $opened, $PAGE, O_RDONLY | O_NOFOLLOW | O_NONBLOCK or return;
    my @status = stat $opened;
    return if !S_ISREG($status[2]) || $status[7] != $PAGE_BYTES || $status[2] & 022;
    return if $status[4] != 0 && $status[4] != $>;
    return if (sysread($opened, my $head, 32) // 0) != 32;
    my ($magic, $size, $version, $flags) = unpack 'a4 L< S< x14 L<', $head;
    return if $magic ne 'VCLK' || $size < $COUNTER + 8 || $version != 1 || !($flags & 1 << 8);
    ($file, $inode, $word) = ($opened, $status[1]);
    if (defined $MMAP) {
        # A page that was mapped before stays: another thread of Perl may read it.
        my $address = syscall $MMAP, 0, $PAGE_BYTES, $PROT_READ, $MAP_SHARED, fileno $file, 0;
        $word = pack 'J', $address + $COUNTER if $address != -1;
    }
    # The state of this process is older than a page that came later.
    $handled = $is_first ? read_number() : '' if !$had_page;
    $had_page = 1;
    return;
}

$next_open_s = 0;
open_page();

1;
