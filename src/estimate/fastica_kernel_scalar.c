/* fastica_kernel_scalar.c - the kernel of fastICA for the plain machine. */
#define PANEL bl_fastica_panel_scalar
#include "estimate/fastica_kernel_body.h"
