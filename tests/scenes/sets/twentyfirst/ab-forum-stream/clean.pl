#!/usr/bin/perl
# strips the markup, lower case, no doubled spaces
use strict; use warnings;
$| = 1;
while (<STDIN>) { s/<[^>]*>//g; tr/A-Z/a-z/; s/  +/ /g; print; }
