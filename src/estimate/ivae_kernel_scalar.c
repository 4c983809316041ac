/* ivae_kernel_scalar.c - the kernel of the linear iVAE for the plain machine. */
#define PIECE bl_ivae_piece_scalar
#include "estimate/ivae_kernel_body.h"
