/* SPDX-License-Identifier: Apache-2.0 */
#include "core/plant.h"

#if defined(HF_PLANTS)
enum hf_plant hf_plant = HF_PLANT_NONE;
#endif
