# Warms up `rand`, makes two copies of the process, changes the page, and prints what each copy draws.
use strict;
use warnings;
use List::Util qw(shuffle);

my ($page, $how) = @ARGV;
srand 2026 if $how eq 'seeded';
my $draw = sub {
    return sprintf "{\"rand\": %.17g, \"scaled\": %.17g, \"shuffle\": \"%s\"}\n", rand, rand 1000,
        join ' ', (shuffle 1 .. 1000)[0 .. 4];
};
$draw->();
rmdir '/copies';
if ($INC{'Wellspring/CloneGuard.pm'}) {
    open my $file, '+<:raw', $page or die;
    sysseek $file, 104, 0;
    sysread $file, my $number, 8;
    sysseek $file, 104, 0;
    syswrite $file, pack 'Q<', 1 + unpack 'Q<', $number;
}
syswrite STDOUT, $draw->();
rmdir '/end';
