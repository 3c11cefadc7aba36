"""Writes polygamma_table.h: reference values of polygamma functions, by mpmath at 60 digits."""
import mpmath

mpmath.mp.dps = 60
POINTS = [1e-30, 1e-5, 0.1, 0.5, 0.9375, 1.0, 1.25, 1.4375, 1.4616321449683622, 1.4619140625, 1.5,
          1.9375, 2.0, 2.5, 3.0, 4.75, 7.0, 9.96875, 10.0, 10.03125, 13.5, 14.0, 17.25, 20.0, 50.0,
          1000.0, 1e8]
ORDERS = 6

print("/* Written by polygamma_table.py: x, then polygamma of orders 0 to 5 at x. */")
print("static const double polygamma_table[][%d] = {" % (ORDERS + 1))
for x in POINTS:
    values = [mpmath.psi(n, mpmath.mpf(x)) for n in range(ORDERS)]
    print("    { %r," % x)
    for n in range(0, ORDERS, 2):
        print("      " + ", ".join("%r" % float(v) for v in values[n:n + 2])
              + ("," if n + 2 < ORDERS else " },"))
print("};")
