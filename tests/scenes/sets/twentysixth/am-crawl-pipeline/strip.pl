#!/usr/bin/perl
# takes boilerplate words out of the pages, line by line
use strict; use warnings;
use Time::HiRes qw(sleep);
$| = 1;
my ($n, $short) = (0, 0);
while (my $l = <STDIN>) {
    $n++;
    chomp $l;
    if (length($l) < 20) { $short++; warn "strip.pl: line $n is empty or too short, kept as it is\n"; }
    $l =~ s/\bcookie\b//g;
    print "$l\n";
    sleep 0.13;
}
warn "strip.pl: $n lines, $short too short\n";
