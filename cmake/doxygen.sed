# Shows Doxygen a header as its reader sees it (sed -E; see INPUT_FILTER in the Doxyfile). No line moves.

# The first comment is about the file.
1s|^/\*\*$|/** @file|

# Users call hs_add(x, y), a macro that passes their place on to hs_add_at(x, y, at): show it as a function.
s|^#define (hs_[a-z0-9_]+)\(\.\.\.\) *\1_at\(__VA_ARGS__, HS_HERE\)$||
s/(##)?_at\(/(/
s/, const char \*at\)/)/

# A comment behind several fields is about each: "double a, b; /**< c */".
:split
s#(^|\*/) *((const )?[a-z_0-9]+) (\**[a-z_0-9]+(\[[A-Z_0-9]+\])*), ([^;/]*); *(/\*\*<.*\*/)$#\1    \2 \4; \7 \2 \6; \7#
t split
